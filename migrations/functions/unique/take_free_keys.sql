-- take_free_keys: takes unique keys for jobs about to be enqueued; among jobs with the same key,
-- for the first. Returns the jobs that got their key or have none, and null for the others.
--   p_look  whether to leave out keys that are taken. With it, it fails with 23505 only if another
--           session is faster. Without it, it takes half the time, but fails if any key is taken.
--           (ON CONFLICT would take twice as long.)
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
