-- Which of these jobs are live, in the order of their ids.
-- $1 jobs
select j.id from jobkit.jobs j where j.id = any ($1) order by j.id
