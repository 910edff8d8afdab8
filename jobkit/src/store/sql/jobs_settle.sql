-- settle: records the outcomes of claimed jobs; returns those that did not go as asked, and which
-- jobs got a permit (with queue and priority).
-- $1 worker, $2 claim numbers, $3 jobs, $4 outcomes, $5 errors, $6 reasons, $7 delays, $8 how long
-- to keep, $9 how long they took, $10 types of the errors: arrays, those from $5 on perhaps shorter
select job_id, ending, queue, priority from jobkit.settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
