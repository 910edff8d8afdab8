-- Schedules that are not due, by name.
-- $1 after this name, $2 how many at most, $3 only those that decided an instant later than now
select s.name, s.times, s.next_at, now() as now
from jobkit.schedules s
where s.removed_at is null and s.name > $1 and s.next_at > now()
    and (not $3 or s.last_at > now())
order by s.name limit $2
