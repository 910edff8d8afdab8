-- prune: removes dead letters that were resolved longer ago than this; returns how many.
-- $1 how long they are kept, $2 how many at most
select jobkit.prune_resolved($1, $2)
