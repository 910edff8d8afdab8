-- stick: notes jobs with which a transition failed, through no fault of theirs; returns how long to
-- leave each alone.
-- $1 transition, $2 jobs, $3 errors, $4 worker
select job_id, wait from jobkit.stick($1, $2, $3, $4)
