-- key_limits: semaphores with the limit and rate in effect for each. For `timed` ones the clock
-- decides as well (`room`); `reserved` slots are kept for jobs that have yet to begin. The clock is
-- not read here: a volatile expression would be computed even if not used.
create or replace view jobkit.key_limits as
    select s.concurrency_group, s.concurrency_key, s.taken, s.override_limit, s.from_priority,
        s.from_id, s.crowded, s.ctid as at,
        coalesce(s.override_limit, g.running, g.code_running,
            case when g.scope = 'limiter' then 2147483647 else 1 end) as effective_limit,
        s.override_rate, s.tat, s.paused_until,
        nullif(coalesce(s.override_rate, g.every, g.code_every), '0') as rate,
        coalesce(s.override_burst, g.burst, g.code_burst) as burst,
        coalesce(s.override_rate, g.every, g.code_every) is not null
            or s.tat is not null or s.paused_until is not null as timed,
        (
            select d.due_at from jobkit.due_keys d
            where d.concurrency_group = s.concurrency_group
                and d.concurrency_key = s.concurrency_key
        ) as due_at,
        (
            select count(*)::integer from jobkit.reserved_slots r
            where r.concurrency_group = s.concurrency_group
                and r.concurrency_key = s.concurrency_key
                and exists (select from jobkit.permits h where h.job_id = r.job_id and h.metered)
        ) as reserved,
        g.scope = 'limiter' as limiter, coalesce(s.paused_for, '30 d') as paused_for
    from jobkit.semaphores s
    left join jobkit.limits g
        on g.name = s.concurrency_group and g.scope in ('group', 'limiter');
