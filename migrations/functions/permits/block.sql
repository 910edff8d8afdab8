-- block: makes these jobs wait for a permit of their keys. `grant_permits` must follow.
create or replace function jobkit.block(p_jobs bigint[]) returns void
language plpgsql as $$
begin
    with newly_blocked as (
        insert into jobkit.blocked_executions (concurrency_group, concurrency_key, priority,
            job_id, queue, kind)
        select j.concurrency_group, j.concurrency_key, j.priority, j.id, j.queue,
            jobkit.versioned(j.kind, j.version)
        from jobkit.jobs j where j.id = any (p_jobs)
        returning concurrency_group as grp, concurrency_key as key, priority, job_id
    )
    -- Without earlier blocked jobs, the search starts at the first of these, past dead entries.
    update jobkit.semaphores s
    set crowded = true, from_priority = k.priority, from_id = k.job_id
    from (
        select b.grp, b.key, min(b.priority) as priority, min(b.job_id) as job_id
        from newly_blocked b group by b.grp, b.key
    ) k
    cross join lateral (
        select s.ctid as at from jobkit.semaphores s
        where s.concurrency_group = k.grp and s.concurrency_key = k.key
            and (not s.crowded or (k.priority, k.job_id) < (s.from_priority, s.from_id)) offset 0
    ) m
    where s.ctid = m.at;
end
$$;
