-- reschedule: gives waiting jobs another time; returns those that were found.
-- $1 jobs, $2 time, null for now
select * from jobkit.reschedule($1, $2)
