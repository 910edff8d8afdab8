-- Kinds at the head of the served queues that this worker does not know; looks at the first 1,000
-- rows of each queue, so a large backlog costs no more than a small one.
-- $1 queues, $2 kinds known
select distinct h.kind, h.queue
from unnest($1::text[]) as q (queue)
cross join lateral (
    select r.kind, r.queue from jobkit.ready r where r.queue = q.queue
    order by r.priority, r.without_permit, r.job_id limit 1000
) h
where h.kind <> all ($2::text[])
