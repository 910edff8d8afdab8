-- Enqueues one job by the contract for other languages, and notes who did.
-- $1 actor, $2 kind, $3 payload, $4 queue, $5 time, $6 priority, $7 attempts, $8 concurrency key,
-- $9 tags, $10 metadata, $11 dead-letter key, $12 version
with job as materialized (
    select jobkit.enqueue($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) as id
)
select j.id, jobkit.note($1, 'enqueue', 'job', j.id, jsonb_build_object('kind', $2)) from job j
