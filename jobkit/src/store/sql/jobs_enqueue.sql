-- enqueue: inserts jobs and returns their ids, in order.
-- $1 kinds, $2 queues, $3 priorities, $4 max attempts, $5 delays, $6 times, $7 groups, $8 keys,
-- $9 payloads as text, $10 tags, $11 metadata, $12 dead-letter keys, $13 versions: arrays of one
-- length, or empty from $5 on where all is null
select * from jobkit.store_all($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
where jobkit.enqueue_form_1()
