-- sleep: asks the next enqueue to notify this worker.
-- $1 worker, $2 queues, $3 for how long
select jobkit.sleep($1, $2, $3)
