-- Where a job is: its state by the primary keys, and whether it is marked; of `claims`, which is
-- small, every row is looked at.
-- $1 job
select case when c.worker_id is not null then 'running'
        when s.job_id is not null then 'scheduled'
        when b.job_id is not null then 'blocked' else 'ready' end as state,
    j.cancel_requested_at is not null as cancel_requested
from jobkit.jobs j
left join jobkit.claims c on j.id = any (c.job_ids)
left join jobkit.scheduled s on s.run_at = j.run_at and s.job_id = j.id
left join jobkit.blocked_executions b on b.concurrency_group = j.concurrency_group
    and b.concurrency_key = j.concurrency_key and b.priority = j.priority and b.job_id = j.id
where j.id = $1
union all
select 'finished', false from jobkit.finished f where f.job_id = $1
union all
select 'dead', false from jobkit.dead_letters d where d.job_id = $1
limit 1
