-- store_one: stores one job for a client that has checked it (`wrong_with`). If the caller may
-- write to the tables and the job is due at once, one statement does it, including the checks for
-- full queues and sleepers (`wake`); otherwise `store_all` stores it. It only inserts.
--   p_id  the id it gets, if the caller has taken its unique key
-- It runs with the rights and the search_path of the caller, since setting one would cost something
-- in each call; so every name in it has its schema.
create or replace function jobkit.store_one(p jobkit.new_job, p_id bigint default null)
returns bigint
language plpgsql as $$
declare
    v_done record;
begin
    if p.delay is not null or p.run_at is not null
        or p.concurrency_group is null and p.concurrency_key is not null
        or not pg_catalog.has_table_privilege('jobkit.jobs'::pg_catalog.regclass, 'insert')
    then
        return jobkit.store_all(jobkit.new_jobs_of(p));
    end if;
    with job as (
        insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at, created_at,
            concurrency_group, concurrency_key, dead_letter_key, args, tags, metadata, version,
            unique_scope, unique_key, unique_while, terms)
        values (coalesce(p_id, pg_catalog.nextval('jobkit.jobs_id_seq')), p.kind, p.queue,
            p.priority, p.max_attempts, pg_catalog.statement_timestamp(),
            pg_catalog.statement_timestamp(), p.concurrency_group, p.concurrency_key,
            p.dead_letter_key, p.args::pg_catalog.json, p.tags, p.metadata, p.version,
            p.unique_scope, p.unique_key, p.unique_while, p.terms)
        returning id
    )
    insert into jobkit.ready (queue, priority, job_id, kind, concurrency_group, concurrency_key)
    select p.queue, p.priority, j.id, jobkit.versioned(p.kind, p.version), p.concurrency_group,
        p.concurrency_key
    -- If a queue has a bound: fails if this one is full, otherwise true.
    from job j where case when pg_catalog.pg_sequence_last_value('jobkit.bounds_id_seq') is null
        then true else jobkit.require_room(p.queue) end
    returning job_id, case when exists (
            select from jobkit.sleepers s
            where s.until operator(pg_catalog.>) pg_catalog.statement_timestamp()
                and (p.queue operator(pg_catalog.=) any (s.queues)
                    or p.queue operator(pg_catalog.^@) any (s.prefixes))
        ) and coalesce(pg_catalog.current_setting('jobkit.notify', true), '')
            operator(pg_catalog.<>) 'off'
        then pg_catalog.pg_notify('jobkit', '') is null end as woken
    into v_done;
    return v_done.job_id;
end
$$;
