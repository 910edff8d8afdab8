-- The jobs that a claim lists.
-- $1 worker, $2 number
select unnest(job_ids) from jobkit.claims where worker_id = $1 and n = $2
