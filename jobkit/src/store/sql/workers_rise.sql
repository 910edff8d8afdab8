-- rise: enqueues need not notify this worker any more.
-- $1 worker
delete from jobkit.sleepers where worker_id = $1
