-- store_unique: one job with a unique key, or one that coalesces, due at once, from a client that
-- has looked at it. Whoever may write to the tables stores it by one statement where the key is
-- free; for others, and of a duplicate, `enqueue_unique` says what becomes. Parameters and answer
-- are those of that, for one job. It has the rights and the search_path of the caller, so every
-- name in it has its schema: to set one is a part of what each call costs.
create or replace function jobkit.store_unique(
    p_kind text, p_queue text, p_priority smallint, p_max_attempts smallint, p_group text,
    p_key text, p_dead_letter_key text, p_args text, p_tags text[], p_metadata jsonb,
    p_version smallint, p_scope text, p_unique text, p_while text, p_for interval,
    p_on_duplicate text, out job_id bigint, out answer text
)
language plpgsql as $$
declare
    v_done record;
begin
    if (p_group is not null or p_key is null)
        and pg_catalog.has_table_privilege('jobkit.jobs'::pg_catalog.regclass, 'insert')
        and pg_catalog.has_table_privilege('jobkit.unique_keys'::pg_catalog.regclass, 'insert')
    then
        with new as materialized (
            select pg_catalog.nextval('jobkit.jobs_id_seq') as id
        ), taken as (
            insert into jobkit.unique_keys (scope, key, job_id, held_until)
            select p_scope, p_unique, n.id,
                pg_catalog.statement_timestamp() operator(pg_catalog.+) p_for
            from new n where p_on_duplicate is not null
            on conflict do nothing returning unique_keys.job_id
        ), mine as materialized (
            select t.job_id as id from taken t
            union all select n.id from new n where p_on_duplicate is null
        ), job as (
            insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at, created_at,
                concurrency_group, concurrency_key, dead_letter_key, args, tags, metadata,
                version, unique_scope, unique_key, unique_while)
            select m.id, p_kind, p_queue, p_priority, p_max_attempts,
                pg_catalog.statement_timestamp(), pg_catalog.statement_timestamp(), p_group,
                p_key, p_dead_letter_key, p_args::pg_catalog.json, p_tags, p_metadata, p_version,
                p_scope, p_unique, p_while
            -- A queue that is full refuses it, where its key was free: this fails, or is true.
            from mine m where case
                when pg_catalog.pg_sequence_last_value('jobkit.bounds_id_seq') is null then true
                else jobkit.require_room(p_queue) end
        )
        insert into jobkit.ready as r (queue, priority, job_id, kind, concurrency_group,
            concurrency_key)
        select p_queue, p_priority, m.id, jobkit.versioned(p_kind, p_version), p_group, p_key
        from mine m
        returning r.job_id, 'enqueued'::pg_catalog.text as answer, case when exists (
                select from jobkit.sleepers s
                where s.until operator(pg_catalog.>) pg_catalog.statement_timestamp()
                    and (p_queue operator(pg_catalog.=) any (s.queues)
                        or p_queue operator(pg_catalog.^@) any (s.prefixes))
            ) and coalesce(pg_catalog.current_setting('jobkit.notify', true), '')
                operator(pg_catalog.<>) 'off'
            then pg_catalog.pg_notify('jobkit', '') is null end as woken
        into v_done;
        job_id := v_done.job_id;
        answer := v_done.answer;
    end if;
    if job_id is null then
        select e.job_id, e.answer into job_id, answer
        from jobkit.enqueue_unique(array[p_kind], array[p_queue], array[p_priority],
            array[p_max_attempts], '{}', '{}', array[p_group], array[p_key], array[p_args],
            array[pg_catalog.to_jsonb(p_tags)], array[p_metadata], array[p_dead_letter_key],
            array[p_version], array[p_scope], array[p_unique], array[p_while], array[p_for],
            array[p_on_duplicate]) as e;
    end if;
end
$$;
