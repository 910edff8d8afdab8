-- begin: creates an operation, or finds the one with this key; and whether it was created.
-- $1 verb, $2 filter, $3 reason, $4 time of a reschedule, $5 how many matches were found so
-- far, $6 whether there may be more, $7 the last failure that matches, $8 idempotency key,
-- $9 who, $10 how many per second at most
select operation, begun from jobkit.operation_begin($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
