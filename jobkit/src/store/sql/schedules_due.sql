-- Schedules that are due, the longest overdue first.
-- $1 how many at most, $2 schedules to leave out, $3 only this one (null: all)
select s.name, s.times, s.next_at, s.catch_up, s.catch_up_max, s.catch_up_window, s.overlap,
    s.paused_at is not null as paused, octet_length(s.args::text) as bytes, now() as now
from jobkit.schedules s
where s.removed_at is null and s.next_at <= now() and s.name <> all ($2)
    and ($3::text is null or s.name = $3)
order by s.next_at limit $1
