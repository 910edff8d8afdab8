-- promote: makes due jobs ready, by the primary key of `scheduled`; and whether an operation is
-- open, whether a schedule is due, whether a batch has changed, whether enqueues will still see the
-- worker as asleep when it looks again, and how long until a bound must be looked at. The next
-- schedule counts like the next job.
-- $1 how many at most, $2 the worker, $3 when it looks again
select p.promoted, least(p.next_in, (
    select s.next_at - clock_timestamp() from jobkit.schedules s
    where s.removed_at is null and s.next_at > now() order by s.next_at limit 1
)) as next_in, exists (
    select from jobkit.operations o where o.ended_at is null
) as operating, exists (
    select from jobkit.schedules s where s.removed_at is null and s.next_at <= now()
) as firing, exists (select from jobkit.batch_tallies) as tallied, exists (
    select from jobkit.sleepers s where s.worker_id = $2 and s.until > clock_timestamp() + $3
) as told, (
    -- As in `look_at_bounds`: at once if the last look was later than now.
    select min(least(b.next_look, case when b.looked_at > clock_timestamp()
        then clock_timestamp() end)) - clock_timestamp()
    from jobkit.bounds b
) as look_in
from jobkit.promote($1) p
