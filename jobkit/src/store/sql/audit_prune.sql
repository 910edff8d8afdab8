-- prune: removes old entries of the audit, the oldest first; returns how many.
-- $1 how long they are kept, $2 how many at most
select jobkit.prune_audit($1, $2)
