-- promote: makes due jobs ready, by the primary key of `scheduled`; and whether an operation is
-- open or a schedule due. The next one of those counts as the next job does.
-- $1 how many at most
select p.promoted, least(p.next_in, (
    select s.next_at - clock_timestamp() from jobkit.schedules s
    where s.removed_at is null and s.next_at > now() order by s.next_at limit 1
)) as next_in, exists (
    select from jobkit.operations o where o.ended_at is null
) as operating, exists (
    select from jobkit.schedules s where s.removed_at is null and s.next_at <= now()
) as firing
from jobkit.promote($1) p
