-- unstick: notes that jobs went through.
-- $1 jobs
select jobkit.unstick($1)
