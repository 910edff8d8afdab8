-- The longest wait, in microseconds, of the blocked jobs that `blocked_lanes` finds; and the keys
-- with a job that has waited for this long, or with that long left of a pause (the 1,000 whose
-- pauses end last), the longest wait first, 100 at most: with no permit left, paused, or held back
-- by their rate.
-- $1 how long
with met as materialized (
    select l.grp, l.key, min(l.since) as since from jobkit.blocked_lanes(3000, 5000) l
    group by l.grp, l.key
)
select (extract(epoch from now() - o.since) * 1000000)::bigint as oldest, k.*,
    (extract(epoch from now() - k.since) * 1000000)::bigint as age, (
        select count(*) from (
            select from jobkit.blocked_executions b
            where b.concurrency_group = k.grp and b.concurrency_key = k.key
            order by b.priority, b.job_id limit 10001
        ) b
    ) as blocked
from (select min(m.since) as since from met m) o
left join lateral (
    select h.*, l.effective_limit, l.taken, l.rate, l.burst, greatest(l.due_at, now()) as next_at,
        case when l.paused_until > now() then l.paused_until end as paused_until
    from (
        (select m.* from met m where m.since < now() - $1::interval order by m.since limit 1000)
        union
        select b.concurrency_group, b.concurrency_key, coalesce(m.since, b.since)
        from (select d.* from jobkit.due_keys d where d.due_at > now() + $1::interval
            order by d.due_at desc limit 1000) d
        cross join lateral (select b.* from jobkit.blocked_executions b
            where b.concurrency_group = d.concurrency_group
                and b.concurrency_key = d.concurrency_key
            order by b.priority, b.job_id limit 1) b
        left join met m on m.grp = b.concurrency_group and m.key = b.concurrency_key
    ) h
    cross join lateral (select l.* from jobkit.key_limits l
        where l.concurrency_group = h.grp and l.concurrency_key = h.key offset 0) l
    where h.since < now() - $1::interval and (l.taken >= l.effective_limit
            or jobkit.paced(l.rate, l.paused_until, l.due_at, l.reserved))
        or l.paused_until > now() + $1::interval
    order by h.since limit 100
) k on true
