-- enqueue: inserts jobs and returns their ids, in order.
-- $1 kinds, $2 queues, $3 priorities, $4 max attempts, $5 delays, $6 times, $7 groups, $8 keys,
-- $9 payloads as text, $10 tags, $11 metadata, $12 dead-letter keys, $13 versions: arrays of one
-- length, or empty from $5 on where all is null. Every parameter is the text of an array, so that
-- each driver can send it.
select e.job_id
from jobkit.store_all(
    $1::pg_catalog.text::pg_catalog.text[], $2::pg_catalog.text::pg_catalog.text[],
    $3::pg_catalog.text::pg_catalog.int2[], $4::pg_catalog.text::pg_catalog.int2[],
    $5::pg_catalog.text::pg_catalog.interval[], $6::pg_catalog.text::pg_catalog.timestamptz[],
    $7::pg_catalog.text::pg_catalog.text[], $8::pg_catalog.text::pg_catalog.text[],
    $9::pg_catalog.text::pg_catalog.text[], $10::pg_catalog.text::pg_catalog.jsonb[],
    $11::pg_catalog.text::pg_catalog.jsonb[], $12::pg_catalog.text::pg_catalog.text[],
    $13::pg_catalog.text::pg_catalog.int2[]
) as e (job_id)
where jobkit.enqueue_form_1()
