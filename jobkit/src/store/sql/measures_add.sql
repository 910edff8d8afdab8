-- measure: adds what a worker has counted to the rows of this minute, by the primary key of
-- `measures`.
-- $1 one object for each queue, kind and outcome
select jobkit.measure($1)
