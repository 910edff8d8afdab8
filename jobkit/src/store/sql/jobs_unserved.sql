-- Queues that have ready jobs, and whether a live worker serves each, for start-up to name. Walks
-- the primary key of `ready` from queue to queue, so it reads one row for each, not the backlog.
with recursive q (queue) as (
    (select r.queue from jobkit.ready r order by r.queue limit 1)
    union all
    select (select r.queue from jobkit.ready r where r.queue > q.queue order by r.queue limit 1)
    from q where q.queue is not null
)
select q.queue, exists (
    select from jobkit.workers w
    where q.queue = any (w.queues) and w.lease_until > clock_timestamp()
) as served
from q where q.queue is not null
