-- register: a worker begins, with its lease.
-- $1 worker, $2 name, $3 queues, $4 kinds, $5 lease, $6 slots of each queue
select jobkit.register($1, $2, $3, $4, $5, $6)
