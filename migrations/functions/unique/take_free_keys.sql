-- take_free_keys: unique keys for jobs that are about to be enqueued: of each key the first one.
-- Returns the jobs that have theirs, or have none, and null for the others.
--   p_look  whether those that are taken are left out. Without a look, which takes half the time,
--           it fails with 23505 where one is; with one, where somebody was faster (ON CONFLICT
--           would take twice as long).
create or replace function jobkit.take_free_keys(
    p_scope text[], p_key text[], p_job bigint[], p_for interval[], p_look boolean
) returns bigint[]
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_taken integer;
begin
    insert into jobkit.unique_keys (scope, key, job_id, held_until)
    select distinct on (u.scope collate "C", u.key collate "C")
        u.scope, u.key, u.job, v_now + u.term
    from (
        select unnest(p_scope) as scope, unnest(p_key) as key, unnest(p_job) as job,
            unnest(p_for) as term
    ) u
    -- Key by key (offset 0), whatever the statistics say.
    where u.key is not null and (not p_look or not exists (
        select from jobkit.unique_keys k where k.scope = u.scope and k.key = u.key offset 0
    ))
    order by u.scope collate "C", u.key collate "C", u.job;
    get diagnostics v_taken = row_count;
    if v_taken = cardinality(p_job) then
        return p_job;
    end if;
    return array(
        select case when n.key is null or exists (
            select from jobkit.unique_keys k
            where k.scope = n.scope and k.key = n.key and k.job_id = n.job offset 0
        ) then n.job end
        from unnest(p_scope, p_key, p_job) with ordinality as n (scope, key, job, at) order by n.at
    );
end
$$;
