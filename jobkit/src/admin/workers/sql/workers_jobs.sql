-- The jobs that a worker is running, in the order in which they were claimed, 500 at most.
-- $1 worker
select j.id, j.kind, j.queue, j.attempt + 1 as attempt, c.claimed_at,
    r.done, r.total, r.note, r.progressed_at
from (
    select c.n, c.claimed_at, c.job_id as id from jobkit.claimed_jobs c
    where c.worker_id = $1 and not c.waits order by c.n limit 500
) c
cross join lateral (
    select j.id, j.kind, j.queue, j.attempt from jobkit.jobs j where j.id = c.id offset 0
) j
left join jobkit.reports r on r.job_id = j.id and r.attempt = j.attempt + 1
    and r.worker_id = $1
order by c.n, j.id
