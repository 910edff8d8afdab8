-- explain: how a job ended: outcome and reason of a finished one, reason and error of a dead one.
-- $1 job
select false as dead, f.outcome as ending, f.reason as why, f.finished_at as ended_at
from jobkit.finished f where f.job_id = $1
union all
select true, d.reason, left(d.error, 1000), d.failed_at
from jobkit.dead_letters d where d.job_id = $1
limit 1
