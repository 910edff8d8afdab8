-- What `jobs_enqueue_one.sql` does, but every parameter is text or null, so that each driver can
-- send it.
-- $1 kind, $2 queue, $3 priority, $4 max attempts, $5 group, $6 key (both or neither),
-- $7 dead-letter key, $8 payload, $9 tags, $10 metadata, $11 version
select jobkit.store_one($1::pg_catalog.text, $2::pg_catalog.text,
    $3::pg_catalog.text::pg_catalog.int2, $4::pg_catalog.text::pg_catalog.int2,
    $5::pg_catalog.text, $6::pg_catalog.text, $7::pg_catalog.text, $8::pg_catalog.text,
    $9::pg_catalog.text::pg_catalog.text[], $10::pg_catalog.text::pg_catalog.jsonb,
    $11::pg_catalog.text::pg_catalog.int2) as job_id
where jobkit.enqueue_form_1()
