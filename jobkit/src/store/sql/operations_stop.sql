-- Ends an operation that is open, as cancelled or failed; whether it was.
-- $1 operation, $2 state, $3 error, $4 who
select jobkit.operation_stop($1, $2, $3, $4)
