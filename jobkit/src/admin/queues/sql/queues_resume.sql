-- resume: the queue is served again; returns whether it was paused.
-- $1 queue, $2 actor
select jobkit.resume($1, $2)
