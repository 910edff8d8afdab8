-- begin: an operation, or the one that has this key; and whether it was made.
-- $1 verb, $2 filter, $3 reason of a discard, $4 time of a reschedule, $5 estimate, $6 the last
-- failure that is meant, $7 idempotency key, $8 who
select operation, begun from jobkit.operation_begin($1, $2, $3, $4, $5, $6, $7, $8)
