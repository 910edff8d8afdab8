-- take_free_keys: unique keys, those that look free, for jobs that are about to be enqueued: of
-- each key the first of them. Returns the jobs that have theirs, or have none, and null for the
-- others.
-- It fails with 23505 where somebody was faster (ON CONFLICT would take twice as long).
create or replace function jobkit.take_free_keys(
    p_scope text[], p_key text[], p_job bigint[], p_for interval[]
) returns bigint[]
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_jobs bigint[];
begin
    with taken as (
        insert into jobkit.unique_keys (scope, key, job_id, held_until)
        select distinct on (u.scope collate "C", u.key collate "C")
            u.scope, u.key, u.job, v_now + u.term
        from unnest(p_scope, p_key, p_job, p_for) as u (scope, key, job, term)
        where u.key is not null and not exists (
            select from jobkit.unique_keys k where k.scope = u.scope and k.key = u.key
        )
        order by u.scope collate "C", u.key collate "C", u.job
        returning unique_keys.job_id as job
    )
    select array_agg(case when n.key is null or t.job is not null then n.job end order by n.at)
    into v_jobs
    from unnest(p_job, p_key) with ordinality as n (job, key, at)
    left join taken t on t.job = n.job;
    return v_jobs;
end
$$;
