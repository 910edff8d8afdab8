-- The runs of a schedule, fired or skipped, the latest first.
-- $1 name, $2 before this instant, $3 how many
select r.instant, r.job_id, r.skipped, r.since, r.by_hand, r.actor, r.decided_at
from jobkit.schedule_runs r
where r.schedule = $1 and ($2::timestamptz is null or r.instant < $2)
order by r.instant desc limit $3
