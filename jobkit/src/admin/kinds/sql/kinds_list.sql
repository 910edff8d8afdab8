-- The kinds that workers have announced, by name, 1,000 at most; and how many live workers know
-- each, in any version of its payload.
with knows as materialized (
    select distinct w.id, jobkit.unversioned(n.name) as kind
    from jobkit.workers w, unnest(w.kinds) as n (name)
    where not w.stopping and w.lease_until > now()
)
select k.kind, k.queue, k.priority, k.max_attempts, k.concurrency_group, k.concurrency_limit,
    (extract(epoch from k.retention) * 1000000)::bigint as retention,
    (extract(epoch from coalesce(k.retention_discarded, k.retention)) * 1000000)::bigint
        as retention_discarded,
    (extract(epoch from k.expires) * 1000000)::bigint as expires,
    (extract(epoch from k.retry_for) * 1000000)::bigint as retry_for,
    (extract(epoch from k.auto_replay) * 1000000)::bigint as auto_replay, k.max_cycles,
    k.announced_at, (select count(*) from knows n where n.kind = k.kind) as workers
from jobkit.kinds k
order by k.kind limit 1000
