-- set_aside: takes ready jobs that cannot be read out of the way of claims; returns them, and why.
-- $1 worker, $2 kinds known, $3 queues, $4 how many to look at in each
select job_id, error from jobkit.set_aside($1, $2, $3, $4)
