-- stop: asks a worker to stop; says whether it was asked.
-- $1 worker, $2 actor
select jobkit.stop_worker($1, $2)
