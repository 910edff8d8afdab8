-- Where a job is: its state and what is known of it, by the primary keys; of `claims`, which is
-- small, every row is looked at.
-- $1 job
select case when c.worker_id is not null then 'running'
        when s.job_id is not null then 'scheduled' else 'ready' end as state,
    j.kind, j.queue, j.attempt, j.max_attempts, c.worker_id
from jobkit.jobs j
left join jobkit.claims c on j.id = any (c.job_ids)
left join jobkit.scheduled s on s.run_at = j.run_at and s.job_id = j.id
where j.id = $1
union all
select 'finished', f.kind, f.queue, f.attempt, f.max_attempts, f.worker_id
from jobkit.finished f where f.job_id = $1
union all
select 'dead', d.kind, d.queue, d.attempt, d.max_attempts, d.worker_id
from jobkit.dead_letters d where d.job_id = $1
limit 1
