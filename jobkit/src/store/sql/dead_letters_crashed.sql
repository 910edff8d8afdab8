-- Dead letters of jobs that these workers held when they died, 1,000 at most.
-- $1 created at or after this time, $2 the workers
select d.job_id, d.kind, d.queue, d.attempt from jobkit.dead_letters d
where d.state = 'open' and d.failed_at >= $1 and d.reason = 'crashed' and d.worker_id = any ($2)
order by d.failed_at, d.id limit 1000
