-- limits: semaphores with the limit and the rate that hold for each. Of a `timed` one the clock
-- decides as well: it has no more permits to give than `room`, the slots that are free now and of
-- which none is reserved. `paced`: it may have free permits, and somebody will see to them: at
-- `due_at`, or when what has a slot reserved begins. A due time long past, or further away than a
-- next slot can be (the rate was raised, the clock stepped back), is none.
create or replace view jobkit.limits as
    select s.concurrency_group, s.concurrency_key, s.taken, s.override_limit, s.from_priority,
        s.from_id, s.crowded, s.ctid as at,
        coalesce(s.override_limit, g.override_limit, g.default_limit, 1) as effective_limit,
        s.override_rate, s.tat, s.paused_until, s.due_at, nullif(r.rate, '0') as rate, r.burst,
        r.timed, case when r.timed then h.reserved end as reserved,
        case when r.timed then jobkit.room(nullif(r.rate, '0'), r.burst, s.tat, s.paused_until,
            clock_timestamp()) - h.reserved end as room,
        (s.paused_until > clock_timestamp()) is true
            or (s.due_at between clock_timestamp() - interval '5 s'
                and clock_timestamp() + nullif(r.rate, '0')) is true
            or h.reserved > 0 as paced
    from jobkit.semaphores s
    left join jobkit.concurrency_groups g on g.name = s.concurrency_group
    cross join lateral (
        select x.rate, coalesce(s.override_burst, g.override_burst, g.default_burst) as burst,
            x.rate is not null or s.tat is not null or s.paused_until is not null as timed
        from (select coalesce(s.override_rate, g.override_rate, g.default_rate) as rate) x
    ) r
    cross join lateral (
        select (
            select count(*)::integer from jobkit.permits h
            where h.concurrency_group = s.concurrency_group
                and h.concurrency_key = s.concurrency_key and h.metered
        ) as reserved
    ) h;
