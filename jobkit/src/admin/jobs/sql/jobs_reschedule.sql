-- reschedule: gives waiting jobs another time; returns those that were found.
-- $1 jobs, $2 time, null for now; for the audit $3 actor, $4 detail
select * from jobkit.reschedule($1, $2, $3, $4)
