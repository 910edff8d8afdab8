-- key_violations: what is wrong with concurrency keys. More permits than the limit are no
-- violation: the limit may have been lowered. Nor is a free permit that no worker could grant: none
-- that serves the job has a lease, or none has sent a heartbeat since it was due.
create or replace view jobkit.key_violations as
    select s.concurrency_group, s.concurrency_key, 'taken is not the number of permits' as what
    from jobkit.semaphores s
    left join (
        select p.concurrency_group, p.concurrency_key, count(*) as n
        from jobkit.permits p group by 1, 2
    ) h on h.concurrency_group = s.concurrency_group and h.concurrency_key = s.concurrency_key
    where s.taken <> coalesce(h.n, 0)
    union all
    select s.concurrency_group, s.concurrency_key, 'unused semaphore'
    from jobkit.semaphores s
    where s.taken = 0 and s.override_limit is null and s.override_rate is null
        and not exists (
            select from jobkit.due_keys d where d.concurrency_group = s.concurrency_group
                and d.concurrency_key = s.concurrency_key
        ) and not exists (
        select from jobkit.blocked_executions b
        where b.concurrency_group = s.concurrency_group
            and b.concurrency_key = s.concurrency_key
    )
    union all
    select w.concurrency_group, w.concurrency_key, w.what || ' without a semaphore'
    from (
        select 'permits' as what, p.concurrency_group, p.concurrency_key from jobkit.permits p
        union
        select 'blocked executions', b.concurrency_group, b.concurrency_key
        from jobkit.blocked_executions b
    ) w
    where not exists (
        select from jobkit.semaphores s
        where s.concurrency_group = w.concurrency_group
            and s.concurrency_key = w.concurrency_key
    )
    union all
    select b.concurrency_group, b.concurrency_key, 'blocked before the start of the search'
    from jobkit.blocked_executions b
    join jobkit.semaphores s on s.concurrency_group = b.concurrency_group
        and s.concurrency_key = b.concurrency_key
    where not s.crowded or (b.priority, b.job_id) < (s.from_priority, s.from_id)
    union all
    select s.concurrency_group, s.concurrency_key, 'a free permit and a blocked job to run'
    from jobkit.key_limits s
    where s.taken < s.effective_limit and not jobkit.paced(
            s.rate, s.paused_until, s.due_at, s.reserved)
        and exists (
            select from jobkit.blocked_executions b
            where b.concurrency_group = s.concurrency_group
                and b.concurrency_key = s.concurrency_key
                and exists (
                    select from jobkit.serving(b.queue, b.kind) as v (id)
                    join jobkit.workers w on w.id = v.id
                    where w.lease_until > clock_timestamp()
                        and w.heartbeat_at between case when s.due_at <= clock_timestamp()
                            then s.due_at + interval '5 s' else '-infinity' end
                            and clock_timestamp()
                )
        );
