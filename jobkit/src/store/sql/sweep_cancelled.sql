-- sweep: ends waiting jobs whose cancel was cut short; returns how many.
-- $1 how many at most
select jobkit.sweep_cancelled($1)
