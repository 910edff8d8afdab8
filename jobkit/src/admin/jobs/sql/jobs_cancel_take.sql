-- cancel, second half: takes marked jobs from where they wait; returns those that have ended.
-- $1 jobs, $2 outcome, $3 reason
select * from jobkit.cancel_take($1, $2, $3)
