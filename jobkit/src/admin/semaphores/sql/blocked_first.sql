-- The blocked jobs of a key, in the order in which they get permits; 100 at most.
-- $1 group, $2 key
select b.job_id, b.kind, b.queue, b.priority, b.since
from jobkit.blocked_executions b
where b.concurrency_group = $1 and b.concurrency_key = $2
order by b.priority, b.job_id limit 100
