-- sweep: takes permits back from ready jobs that nobody serves; returns how many there were.
-- $1 how many at most
select jobkit.sweep_unserved($1)
