-- Paused schedules whose pause has skipped an instant, or with a past instant that is not decided,
-- in the order in which they were paused.
-- $1 how many at most
select s.name, s.times, s.paused_at, s.paused_by, s.pause_reason
from jobkit.schedules s
where s.removed_at is null and s.paused_at is not null and (s.next_at < now() or exists (
    select from jobkit.schedule_runs r
    where r.schedule = s.name and r.instant >= s.paused_at and r.skipped = 'paused'
))
order by s.paused_at, s.name limit $1
