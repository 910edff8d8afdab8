-- How jobs ended, if they are still kept: from the history, or as dead letters.
-- $1 jobs
select f.job_id, f.outcome, f.reason, f.result::text as result
from unnest($1::bigint[]) as a (id)
cross join lateral (
    select f.job_id, f.outcome, f.reason, f.result from jobkit.finished f
    where f.job_id = a.id limit 1
) f
union all
select d.job_id, 'dead', d.error, null
from unnest($1::bigint[]) as a (id)
cross join lateral (
    select d.job_id, d.error from jobkit.dead_letters d where d.job_id = a.id limit 1
) d
