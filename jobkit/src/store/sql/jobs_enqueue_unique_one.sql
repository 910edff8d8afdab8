-- enqueue of one job with a unique key, due at once, as the one of any job: where the key is free;
-- else the function, called only then, says what becomes of it. Any search_path will do. $1 kind,
-- $2 queue, $3 priority, $4 max attempts, $5 group, $6 key (both or neither), $7 dead-letter key,
-- $8 payload, $9 tags, $10 metadata, $11 version, $12 scope of the unique key, $13 that key,
-- $14 while, $15 for how long, $16 on duplicate, $17 the tags as JSON
with new as materialized (select pg_catalog.nextval('jobkit.jobs_id_seq') as id), taken as (
    insert into jobkit.unique_keys (scope, key, job_id, held_until)
    select $12::pg_catalog.text, $13::pg_catalog.text, n.id, pg_catalog.statement_timestamp()
        operator(pg_catalog.+) $15::pg_catalog.text::pg_catalog.interval
    from new n where jobkit.enqueue_form_1() on conflict do nothing returning job_id
), job as (
    insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at, created_at,
        concurrency_group, concurrency_key, dead_letter_key, args, tags, metadata, version,
        unique_scope, unique_key, unique_while)
    select t.job_id, $1::pg_catalog.text, $2::pg_catalog.text, $3::pg_catalog.text::pg_catalog.int2,
        $4::pg_catalog.text::pg_catalog.int2, pg_catalog.statement_timestamp(),
        pg_catalog.statement_timestamp(), $5::pg_catalog.text, $6::pg_catalog.text,
        $7::pg_catalog.text, $8::pg_catalog.text::pg_catalog.json,
        $9::pg_catalog.text::pg_catalog.text[], $10::pg_catalog.text::pg_catalog.jsonb,
        $11::pg_catalog.text::pg_catalog.int2, $12, $13, $14::pg_catalog.text
    -- A queue that is full refuses it, where its key was free: this fails, or is true.
    from taken t where case when pg_catalog.pg_sequence_last_value('jobkit.bounds_id_seq') is null
        then true else jobkit.require_room($2) end
), made as (
    insert into jobkit.ready (queue, priority, job_id, kind, concurrency_group, concurrency_key)
    select $2, $3::pg_catalog.int2, t.job_id, jobkit.versioned($1, $11::pg_catalog.int2), $5, $6
    from taken t returning job_id, case when exists (
        select from jobkit.sleepers s where ($2 operator(pg_catalog.=) any (s.queues)
                or $2 operator(pg_catalog.^@) any (s.prefixes))
            and s.until operator(pg_catalog.>) pg_catalog.statement_timestamp()
    ) and pg_catalog.current_setting('jobkit.notify', true) is distinct from 'off'
        then pg_catalog.pg_notify('jobkit', '') end)
select m.job_id, 'enqueued' as answer from made m union all select e.job_id, e.answer
from jobkit.enqueue_unique(array[$1], array[$2], array[$3::pg_catalog.int2],
    array[$4::pg_catalog.int2], '{}', '{}', array[$5], array[$6], array[$8],
    array[$17::pg_catalog.text::pg_catalog.jsonb], array[$10::pg_catalog.jsonb], array[$7],
    array[$11::pg_catalog.int2], array[$12], array[$13], array[$14],
    array[$15::pg_catalog.interval], array[$16::pg_catalog.text]) e
where not exists (select from taken)
