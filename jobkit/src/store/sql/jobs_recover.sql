-- recover: buries jobs without attempts left; returns how many.
-- $1 jobs
select jobkit.recover($1)
