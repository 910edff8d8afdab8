-- promote: makes due jobs ready, by the primary key of `scheduled`.
-- $1 how many at most
select promoted, next_in from jobkit.promote($1)
