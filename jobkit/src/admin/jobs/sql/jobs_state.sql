-- Where a job is: its state, and whether it is marked.
-- $1 job
select j.state, j.cancel_requested from jobkit.listed_jobs j where j.id = $1
union all
select 'finished', false from jobkit.finished f where f.job_id = $1
union all
select 'dead', false from jobkit.dead_letters d where d.job_id = $1
limit 1
