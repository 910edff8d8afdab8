-- enqueue: inserts jobs and returns their ids, in order.
-- $1 kinds, $2 queues, $3 priorities, $4 max attempts, $5 delays, $6 times, $7 groups, $8 keys,
-- $9 payloads, $10 tags, $11 metadata: arrays of one length; $12 dead-letter keys: perhaps shorter,
-- as $13 versions
select * from jobkit.enqueue_jobs($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
