-- The jobs of claims whose reply never arrived.
-- $1 worker, $2 number up to which its calls are concluded, $3 claims it holds
select unnest(job_ids) from jobkit.claims
where worker_id = $1 and n <= $2 and n <> all ($3::bigint[])
