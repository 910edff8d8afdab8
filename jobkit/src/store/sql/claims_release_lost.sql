-- Gives back claims whose reply never arrived; returns how many jobs they held.
-- $1 worker, $2 number up to which its calls are concluded, $3 claims it holds, $4 lost calls that
-- asked for a single job, $5 only these of the jobs, or null
select jobkit.release_lost($1, $2, $3, $4, $5)
