-- publish: enqueues a job for each kind that subscribes to a topic, and returns these kinds. It
-- only reads and inserts. It runs in the application's session, with any search_path. Every
-- parameter is text or null, so that each driver can send it.
-- $1 topic, $2 payload, $3 version, $4 terms
select e.job_id, e.kind
from jobkit.fan_out($1::pg_catalog.text, $2::pg_catalog.text,
    $3::pg_catalog.text::pg_catalog.int2, null, $4::pg_catalog.text::pg_catalog.jsonb) as e
where jobkit.enqueue_form_1()
