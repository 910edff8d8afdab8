-- promote: makes due jobs ready, by the primary key of `scheduled`; and whether an operation is
-- open, and whether a worker will be asleep, for all that enqueues know, when it looks again.
-- $1 how many at most, $2 the worker, $3 when it looks again
select p.promoted, p.next_in, exists (
    select from jobkit.operations o where o.ended_at is null
) as operating, exists (
    select from jobkit.sleepers s where s.worker_id = $2 and s.until > clock_timestamp() + $3
) as told
from jobkit.promote($1) p
