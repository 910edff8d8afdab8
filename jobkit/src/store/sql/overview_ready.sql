-- How long the job has been due that was due first, in microseconds: of the first 20 of each lane
-- of 500 queues, by the primary keys of `ready` and `jobs`.
select (extract(epoch from now() - min(j.due)) * 1000000)::bigint as age
from jobkit.ready_queues(500) q
cross join generate_series(-3, 3) as p (priority)
cross join unnest('{f,t}'::boolean[]) as w (without_permit)
cross join lateral (
    select r.job_id from jobkit.ready r
    where r.queue = q.queue and r.priority = p.priority and r.without_permit = w.without_permit
    order by r.job_id limit 20
) h
cross join lateral (
    select greatest(j.run_at, j.created_at) as due from jobkit.jobs j where j.id = h.job_id offset 0
) j
