-- enqueue of one job that is due at once, without the function for many: it only inserts as well.
-- It runs in a session of the application's, whatever its search_path. Parameters are what they
-- are, but the payload is text: to prepare for casts is a twentieth of the server's work.
-- $1 kind, $2 queue, $3 priority, $4 max attempts, $5 group, $6 key (both or neither),
-- $7 dead-letter key, $8 payload, $9 tags, $10 metadata, $11 version
with job as (
    insert into jobkit.jobs (kind, queue, priority, max_attempts, run_at, created_at,
        concurrency_group, concurrency_key, dead_letter_key, args, tags, metadata,
        version)
    values ($1::pg_catalog.text, $2::pg_catalog.text, $3::pg_catalog.int2,
        $4::pg_catalog.int2,
        pg_catalog.statement_timestamp(), pg_catalog.statement_timestamp(),
        $5::pg_catalog.text, $6::pg_catalog.text, $7::pg_catalog.text,
        $8::pg_catalog.text::pg_catalog.json, $9::pg_catalog.text[],
        $10::pg_catalog.jsonb, $11::pg_catalog.int2)
    returning id
)
insert into jobkit.ready (queue, priority, job_id, kind, concurrency_group, concurrency_key)
select $2, $3::pg_catalog.int2, j.id, jobkit.versioned($1, $11::pg_catalog.int2), $5, $6
from job j where jobkit.enqueue_form_1()
    -- A queue that is full refuses it, where any has a bound: this fails, or is true.
    and case when pg_catalog.pg_sequence_last_value('jobkit.bounds_id_seq') is null then true
        else jobkit.require_room($2) end
-- As `wake`, in this statement's own plan.
returning job_id, case when exists (
        select from jobkit.sleepers s
        where s.until operator(pg_catalog.>) pg_catalog.statement_timestamp()
            and ($2 operator(pg_catalog.=) any (s.queues)
                or $2 operator(pg_catalog.^@) any (s.prefixes))
    ) and pg_catalog.current_setting('jobkit.notify', true) is distinct from 'off'
        then pg_catalog.pg_notify('jobkit', '') end
