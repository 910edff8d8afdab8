-- reap, second half: takes back one orphaned claim; returns how many jobs it held.
-- $1 worker, $2 number, $3 only these of its jobs, or null
select jobkit.reap_claim($1, $2, $3)
