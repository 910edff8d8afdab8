-- deregister: a worker ends.
-- $1 worker
select jobkit.deregister($1)
