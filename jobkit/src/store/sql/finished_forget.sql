-- prune: takes a removed day off the list of partitions.
-- $1 day
select jobkit.finished_forget($1)
