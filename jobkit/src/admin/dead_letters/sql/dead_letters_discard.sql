-- discard: removes a dead letter for good, unless it is being replayed. Returns what came of it.
-- $1 dead letter, $2 actor
select jobkit.discard_dead_letter($1, $2)
