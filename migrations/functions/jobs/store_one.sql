-- store_one: one job that is due at once, from a client that has looked at it (`wrong_with`).
-- Whoever may write to the tables stores it by one statement, which looks at queues that are full
-- and at sleepers (`wake`) in its own plan; for others `enqueue_all` does it. It only inserts, too.
--   p_group, p_key  concurrency key, both or neither; p_version  of the payload; null = 1
-- It has the rights and the search_path of the caller, so every name in it has its schema: to set
-- one is a part of what each call costs.
create or replace function jobkit.store_one(
    p_kind text, p_queue text, p_priority smallint, p_max_attempts smallint, p_group text,
    p_key text, p_dead_letter_key text, p_args text, p_tags text[], p_metadata jsonb,
    p_version smallint
) returns bigint
language plpgsql as $$
declare
    v_done record;
begin
    if p_group is null and p_key is not null
        or not pg_catalog.has_table_privilege('jobkit.jobs'::pg_catalog.regclass, 'insert')
    then
        return jobkit.enqueue_all(array[p_kind], array[p_queue], array[p_priority],
            array[p_max_attempts], '{}', '{}', array[p_group], array[p_key], array[p_args],
            array[pg_catalog.to_jsonb(p_tags)], array[p_metadata], array[p_dead_letter_key],
            array[p_version]);
    end if;
    with job as (
        insert into jobkit.jobs (kind, queue, priority, max_attempts, run_at, created_at,
            concurrency_group, concurrency_key, dead_letter_key, args, tags, metadata, version)
        values (p_kind, p_queue, p_priority, p_max_attempts, pg_catalog.statement_timestamp(),
            pg_catalog.statement_timestamp(), p_group, p_key, p_dead_letter_key,
            p_args::pg_catalog.json, p_tags, p_metadata, p_version)
        returning id
    )
    insert into jobkit.ready (queue, priority, job_id, kind, concurrency_group, concurrency_key)
    select p_queue, p_priority, j.id, jobkit.versioned(p_kind, p_version), p_group, p_key
    -- A queue that is full refuses it, where any has a bound: this fails, or is true.
    from job j where case when pg_catalog.pg_sequence_last_value('jobkit.bounds_id_seq') is null
        then true else jobkit.require_room(p_queue) end
    returning job_id, case when exists (
            select from jobkit.sleepers s
            where s.until operator(pg_catalog.>) pg_catalog.statement_timestamp()
                and (p_queue operator(pg_catalog.=) any (s.queues)
                    or p_queue operator(pg_catalog.^@) any (s.prefixes))
        ) and coalesce(pg_catalog.current_setting('jobkit.notify', true), '')
            operator(pg_catalog.<>) 'off'
        then pg_catalog.pg_notify('jobkit', '') is null end as woken
    into v_done;
    return v_done.job_id;
end
$$;
