-- enqueue of one job with a unique key, or one that coalesces, due at once: what became of it, and
-- the job that has the key. It runs in a session of the application's, whatever its search_path and
-- its rights. Every parameter is text or null, so that each driver can send it.
-- $1 kind, $2 queue, $3 priority, $4 max attempts, $5 group, $6 key (both or neither),
-- $7 dead-letter key, $8 payload, $9 tags, $10 metadata, $11 version, $12 scope of the unique key,
-- $13 that key, $14 while, $15 for how long, $16 on duplicate
select e.job_id, e.answer
from jobkit.store_unique($1::pg_catalog.text, $2::pg_catalog.text,
    $3::pg_catalog.text::pg_catalog.int2, $4::pg_catalog.text::pg_catalog.int2,
    $5::pg_catalog.text, $6::pg_catalog.text, $7::pg_catalog.text, $8::pg_catalog.text,
    $9::pg_catalog.text::pg_catalog.text[], $10::pg_catalog.text::pg_catalog.jsonb,
    $11::pg_catalog.text::pg_catalog.int2, $12::pg_catalog.text, $13::pg_catalog.text,
    $14::pg_catalog.text, $15::pg_catalog.text::pg_catalog.interval, $16::pg_catalog.text) as e
where jobkit.enqueue_form_1()
