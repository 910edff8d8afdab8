-- Queues that have ready jobs, and whether a live worker serves each; logged at start-up. Walks the
-- primary key of `ready` from queue to queue, so it reads one row of each, not the backlog.
select q.queue, exists (
    select from jobkit.workers w
    where w.lease_until > clock_timestamp()
        and (q.queue = any (w.queues) or q.queue ^@ any (w.prefixes))
) as served
from jobkit.ready_queues() q
