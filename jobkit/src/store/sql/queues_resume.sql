-- resume: the queue is served again; returns whether it was paused.
-- $1 queue
select jobkit.resume($1)
