-- Schedules with an instant that has passed and is not decided, the longest overdue first; not
-- paused ones, which would fire nothing.
-- $1 how many at most
select s.name, s.times, now() - s.next_at as overdue
from jobkit.schedules s
where s.removed_at is null and s.paused_at is null and s.next_at < now()
order by s.next_at limit $1
