-- promote: makes due jobs ready, by the primary key of `scheduled`; and whether an operation is
-- open.
-- $1 how many at most
select p.promoted, p.next_in, exists (
    select from jobkit.operations o where o.state in ('pending', 'running')
) as operating
from jobkit.promote($1) p
