-- prune: removes old measures; returns how many rows.
-- $1 how long they are kept, $2 how many at most
select jobkit.prune_measures($1, $2)
