-- limit: an operator's limit for one concurrency key; returns whether its group is known.
-- $1 group, $2 key, $3 limit or null, $4 actor
select jobkit.limit_key($1, $2, $3, $4)
