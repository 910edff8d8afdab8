-- enqueue_jobs: inserts jobs, all in one statement, and returns their ids in the order given.
-- It only inserts, at whatever isolation level: it waits for nobody and nobody waits for it.
--   p_delay  how long from now; null = at p_run_at; both null = now
--   p_group, p_key  concurrency key, or null; p_dead_letter_key  what its failures share, or null
--   p_version  of the payload; null = 1
create or replace function jobkit.enqueue_jobs(
    p_kind text[], p_queue text[], p_priority smallint[], p_max_attempts smallint[],
    p_delay interval[], p_run_at timestamptz[], p_group text[], p_key text[],
    p_args jsonb[], p_tags jsonb[], p_metadata jsonb[], p_dead_letter_key text[] default '{}',
    p_version smallint[] default '{}'
) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    -- Not now(): that is when the caller's transaction began.
    v_now constant timestamptz := clock_timestamp();
begin
    if array_remove(p_run_at, null) <> '{}' or array_remove(p_delay, null) <> '{}' then
        perform jobkit.require_time(min(t.due)), jobkit.require_time(max(t.due))
        from (
            select coalesce(v_now + i.delay, i.run_at) as due
            from unnest(p_delay, p_run_at) as i (delay, run_at)
        ) t;
    end if;
    if array_remove(p_tags, null) <> '{}' then
        perform jobkit.require_tags(p_tags);
    end if;
    return query
    with input as materialized (
        select nextval('jobkit.jobs_id_seq') as id, i.*,
            coalesce(v_now + i.delay, i.run_at, v_now) as due
        from unnest(p_kind, p_queue, p_priority, p_max_attempts, p_delay, p_run_at, p_group, p_key,
            p_args, p_tags, p_metadata, p_dead_letter_key, p_version)
            as i (kind, queue, priority, max_attempts, delay, run_at, grp, key,
                args, tags, metadata, dead_letter_key, version)
    ), job as (
        insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at, created_at,
            concurrency_group, concurrency_key, dead_letter_key, args, tags, metadata,
            version)
        select i.id, i.kind, i.queue, i.priority, i.max_attempts, i.due, v_now,
            case when i.key is not null then i.grp end, i.key, i.dead_letter_key, i.args,
            case when i.tags is not null then
                array(select jsonb_array_elements_text(i.tags)) end,
            i.metadata, i.version
        from input i
    ), now_ready as (
        insert into jobkit.ready (queue, priority, job_id, kind, concurrency_group, concurrency_key)
        select i.queue, i.priority, i.id, jobkit.versioned(i.kind, i.version),
            case when i.key is not null then i.grp end, i.key
        from input i where i.due <= v_now
    ), later as (
        insert into jobkit.scheduled (run_at, job_id)
        select i.due, i.id from input i where i.due > v_now
    )
    select i.id from input i order by i.id;
    perform jobkit.wake(p_queue);
end
$$;
