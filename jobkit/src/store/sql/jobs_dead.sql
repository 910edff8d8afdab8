-- A job that is the last one of a dead letter, as jobs_list.sql has a live one.
-- $1 job
select d.job_id as id, 'dead' as state, null as outcome, d.kind, d.queue, d.priority, d.attempt,
    d.max_attempts, d.worker_id, false as cancel_requested, d.created_at as run_at, d.created_at,
    d.failed_at as since, null::interval as took, d.concurrency_group, d.concurrency_key, d.tags,
    left(d.error, 300) as error
from jobkit.dead_letters d where d.job_id = $1
