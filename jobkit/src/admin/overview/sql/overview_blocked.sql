-- How long the job waits that waits longest, in microseconds, among the first of 1,000 keys; and
-- those keys without a permit left whose first has waited for long, the longest first, 20 at most.
-- One step along the primary key for each.
-- $1 how long that is
with recursive step (n, grp, key, since) as (
    (
        select 1, b.concurrency_group, b.concurrency_key, b.since from jobkit.blocked_executions b
        order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit 1
    )
    union all
    select s.n + 1, e.*
    from step s
    cross join lateral (
        select b.concurrency_group, b.concurrency_key, b.since from jobkit.blocked_executions b
        where (b.concurrency_group, b.concurrency_key) > (s.grp, s.key)
        order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit 1
    ) e
    where s.n < 1000
)
select (extract(epoch from now() - o.since) * 1000000)::bigint as oldest, k.grp, k.key,
    k.effective_limit, k.taken, (extract(epoch from now() - k.since) * 1000000)::bigint as age, (
        select count(*) from (
            select from jobkit.blocked_executions b
            where b.concurrency_group = k.grp and b.concurrency_key = k.key
            order by b.priority, b.job_id limit 10001
        ) b
    ) as blocked
from (select min(s.since) as since from step s) o
left join lateral (
    select s.*, l.effective_limit, l.taken
    from step s
    cross join lateral (
        select l.effective_limit, l.taken from jobkit.limits l
        where l.concurrency_group = s.grp and l.concurrency_key = s.key offset 0
    ) l
    where s.since < now() - $1::interval and l.taken >= l.effective_limit
    order by s.since limit 20
) k on true
