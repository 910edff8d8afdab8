-- promote: makes due jobs ready, by the primary key of `scheduled`; and whether an operation is
-- open.
-- $1 how many at most
select p.promoted, p.next_in, exists (
    select from jobkit.operations o where o.ended_at is null
) as operating
from jobkit.promote($1) p
