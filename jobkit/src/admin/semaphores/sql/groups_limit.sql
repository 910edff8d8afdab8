-- limit: an operator's limit for a concurrency group; returns whether the group is known.
-- $1 group, $2 limit or null, $3 actor
select jobkit.limit_group($1, $2, $3)
