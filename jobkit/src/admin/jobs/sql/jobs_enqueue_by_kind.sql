-- Enqueues one job through the function for other languages, and notes who did it. Returns its id,
-- or the id of the job that has its unique key, and which of the two it is.
-- $1 actor, $2 kind, $3 payload, $4 queue, $5 time, $6 priority, $7 attempts, $8 concurrency key,
-- $9 tags, $10 metadata, $11 dead-letter key, $12 version, $13 unique key, $14 while, $15 for how
-- long, $16 on duplicate, $17 its group, $18 coalesce key, $19 its group, $20 terms
with job as materialized (
    select jobkit.enqueue($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
        $18, $19, $20) as id
), answered as materialized (
    select j.id, case when $13::text is not null then current_setting('jobkit.answer', true) end
        as answer
    from job j
)
select a.id, coalesce(a.answer, 'enqueued') as answer,
    jobkit.note($1, 'enqueue', 'job', a.id, jsonb_strip_nulls(
        jsonb_build_object('kind', $2::text, 'answer', a.answer)))
from answered a
