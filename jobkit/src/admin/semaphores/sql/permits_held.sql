-- The taken permits of a key, in the order in which they were taken; 100 at most.
-- $1 group, $2 key
select p.job_id, c.worker_id, p.since
from (
    select h.job_id, h.since from jobkit.permits h
    where h.concurrency_group = $1 and h.concurrency_key = $2
    order by h.since, h.job_id limit 100
) p
left join jobkit.claims c on c.keyed and p.job_id = any (c.job_ids)
order by p.since, p.job_id
