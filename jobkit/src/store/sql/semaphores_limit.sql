-- limit: an operator's limit for one concurrency key; returns whether its group is known.
-- $1 group, $2 key, $3 limit or null
select jobkit.limit_key($1, $2, $3)
