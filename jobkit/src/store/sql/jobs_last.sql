-- The job with the highest id: what is enqueued later is not meant by what begins now.
select max(j.id) from jobkit.jobs j
