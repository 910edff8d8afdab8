-- lock_semaphores: locks the existing semaphores of these jobs' keys, in order, and returns them.
-- The lock inside LATERAL makes it one lookup for each key in turn, whatever the planner estimates.
create or replace function jobkit.lock_semaphores(
    p_jobs bigint[], out groups text[], out keys text[]
)
language plpgsql as $$
begin
    select coalesce(array_agg(k.grp), '{}'), coalesce(array_agg(k.key), '{}') into groups, keys
    from (
        select distinct j.concurrency_group as grp, j.concurrency_key as key
        from jobkit.jobs j where j.id = any (p_jobs) and j.concurrency_key is not null
        order by 2, 1
    ) k
    cross join lateral (
        select from jobkit.semaphores s
        where s.concurrency_group = k.grp and s.concurrency_key = k.key for update
    ) locked;
end
$$;
