-- claim: takes ready jobs, by the primary key of `ready`.
-- $1 worker, $2 number of the call, $3 kinds known, $4 queues, $5 free slots of each, $6 low-water
-- marks, 14 for each queue, or none, $7 and $8 the first and last lane of each that has a mark;
-- $9 how many of the slots of each are not free yet, or none; $10 the pool of each that shares its
-- slots, and $11 the slots of each pool, or none
select * from jobkit.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
