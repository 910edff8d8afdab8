-- limit: an operator's limit for a concurrency group; returns whether the group is known.
-- $1 group, $2 limit or null
select jobkit.limit_group($1, $2)
