-- Workers by name, 500 at most; times in microseconds.
-- $1 only this one, null for any; $2 only those with less than a quarter of their lease left
select w.id, w.name, w.started_at, w.lease_until, w.stopping, w.stop_requested_at, w.queues,
    w.zones, w.slots, w.pools, w.weights, w.kinds, w.lease_until <= now() as lapsed,
    w.lease_until - w.lease / 4 < now() as late,
    greatest((extract(epoch from now() - w.heartbeat_at) * 1000000)::bigint, 0) as heartbeat_age,
    (extract(epoch from w.lease) * 1000000)::bigint as lease, (
        select count(*) from jobkit.claimed_jobs c where c.worker_id = w.id and not c.waits
    ) as running
from jobkit.workers w
where ($1::bigint is null or w.id = $1) and (not $2 or w.lease_until - w.lease / 4 < now())
order by w.name, w.id limit 500
