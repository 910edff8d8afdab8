-- recover: jobs without attempts left that nobody ended, in the order of their ids.
-- $1 after this job, $2 how many at most
select * from jobkit.exhausted($1, $2)
