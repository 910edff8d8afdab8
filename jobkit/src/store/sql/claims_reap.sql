-- reap, second half: takes back one orphaned claim; returns how many jobs it held.
-- $1 worker, $2 number
select jobkit.reap_claim($1, $2)
