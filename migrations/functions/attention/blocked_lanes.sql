-- blocked_lanes: the first blocked job of each of the first p_steps keys and priorities, one step
-- along the primary key for each; and the blocked ones among the p_jobs oldest live jobs, so that a
-- long wait is found however many keys there are.
create or replace function jobkit.blocked_lanes(p_steps integer, p_jobs integer)
returns table (grp text, key text, since timestamptz)
language sql stable as $$
    with recursive step (n, grp, key, priority, since) as (
        (
            select 1, b.concurrency_group, b.concurrency_key, b.priority, b.since
            from jobkit.blocked_executions b
            order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit 1
        )
        union all
        select s.n + 1, e.*
        from step s
        cross join lateral (
            select b.concurrency_group, b.concurrency_key, b.priority, b.since
            from jobkit.blocked_executions b
            where (b.concurrency_group, b.concurrency_key, b.priority) > (s.grp, s.key, s.priority)
            order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit 1
        ) e
        where s.n < p_steps
    )
    select s.grp, s.key, s.since from step s
    union all
    select b.concurrency_group, b.concurrency_key, b.since
    from (
        select j.id, j.concurrency_group, j.concurrency_key, j.priority from jobkit.jobs j
        order by j.id limit p_jobs
    ) j
    cross join lateral (
        select b.* from jobkit.blocked_executions b
        where b.concurrency_group = j.concurrency_group
            and b.concurrency_key = j.concurrency_key
            and b.priority = j.priority and b.job_id = j.id offset 0
    ) b
$$;
