-- enqueue of jobs some of which have unique keys. Returns for each, in order, what became of it:
-- enqueued, existing or replaced, and the job that has the key.
-- $1 kinds, $2 queues, $3 priorities, $4 max attempts, $5 delays, $6 times, $7 groups, $8 keys,
-- $9 payloads as text, $10 tags, $11 metadata, $12 dead-letter keys, $13 versions, $14 scopes of
-- the unique keys, $15 the keys, $16 while, $17 for how long, $18 on duplicate: null where a job
-- has none. Every parameter is the text of an array, so that each driver can send it.
select e.job_id, e.answer
from jobkit.enqueue_unique(
    $1::pg_catalog.text::pg_catalog.text[], $2::pg_catalog.text::pg_catalog.text[],
    $3::pg_catalog.text::pg_catalog.int2[], $4::pg_catalog.text::pg_catalog.int2[],
    $5::pg_catalog.text::pg_catalog.interval[], $6::pg_catalog.text::pg_catalog.timestamptz[],
    $7::pg_catalog.text::pg_catalog.text[], $8::pg_catalog.text::pg_catalog.text[],
    $9::pg_catalog.text::pg_catalog.text[], $10::pg_catalog.text::pg_catalog.jsonb[],
    $11::pg_catalog.text::pg_catalog.jsonb[], $12::pg_catalog.text::pg_catalog.text[],
    $13::pg_catalog.text::pg_catalog.int2[], $14::pg_catalog.text::pg_catalog.text[],
    $15::pg_catalog.text::pg_catalog.text[], $16::pg_catalog.text::pg_catalog.text[],
    $17::pg_catalog.text::pg_catalog.interval[], $18::pg_catalog.text::pg_catalog.text[]
) as e
where jobkit.enqueue_form_1()
