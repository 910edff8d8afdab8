-- prune: makes the partitions of `finished` for the days to come.
-- $1 how many days
select jobkit.finished_prepare($1)
