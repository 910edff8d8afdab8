-- Jobs of live workers that were claimed longer ago than this and are not waiting for a slot, the
-- longest first, 1,000 at most.
-- $1 how long
select c.job_id as job, j.queue, j.kind, c.worker_id as worker, w.name, c.claimed_at,
    (extract(epoch from now() - c.claimed_at) * 1000000)::bigint as ran
from (
    select c.* from jobkit.claimed_jobs c
    where not c.waits and c.claimed_at < now() - $1::interval
    order by c.claimed_at, c.job_id limit 1000
) c
join jobkit.workers w on w.id = c.worker_id and w.lease_until > now()
cross join lateral (select j.queue, j.kind from jobkit.jobs j where j.id = c.job_id offset 0) j
order by c.claimed_at, c.job_id
