-- enqueue_jobs: inserts jobs, all in one statement, and returns their ids in the order given.
-- It only inserts, at whatever isolation level: it waits for nobody and nobody waits for it.
--   p_delay  how long from now; null = at p_run_at; both null = now
--   p_group, p_key  concurrency key, or null; p_dead_letter_key  what its failures share, or null
create function jobkit.enqueue_jobs(
    p_kind text[], p_queue text[], p_priority smallint[], p_max_attempts smallint[],
    p_delay interval[], p_run_at timestamptz[], p_group text[], p_key text[],
    p_args jsonb[], p_tags jsonb[], p_metadata jsonb[], p_dead_letter_key text[] default '{}'
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
            p_args, p_tags, p_metadata, p_dead_letter_key)
            as i (kind, queue, priority, max_attempts, delay, run_at, grp, key,
                args, tags, metadata, dead_letter_key)
    ), job as (
        insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at, created_at,
            concurrency_group, concurrency_key, dead_letter_key, args, tags, metadata)
        select i.id, i.kind, i.queue, i.priority, i.max_attempts, i.due, v_now,
            case when i.key is not null then i.grp end, i.key, i.dead_letter_key, i.args,
            case when i.tags is not null then
                array(select jsonb_array_elements_text(i.tags)) end,
            i.metadata
        from input i
    ), now_ready as (
        insert into jobkit.ready (queue, priority, job_id, kind, concurrency_group, concurrency_key)
        select i.queue, i.priority, i.id, i.kind, case when i.key is not null then i.grp end, i.key
        from input i where i.due <= v_now
    ), later as (
        insert into jobkit.scheduled (run_at, job_id)
        select i.due, i.id from input i where i.due > v_now
    )
    select i.id from input i order by i.id;
    perform jobkit.wake(p_queue);
end
$$;

-- require_options: refuses what would make a job that no claim finds or no worker runs. Null: as
-- it is elsewhere.
create function jobkit.require_options(
    p_queue text, p_priority integer, p_max_attempts integer, variadic p_keys text[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_wrong constant text := case
        when octet_length(p_queue) not between 1 and 128 then
            'the name of a queue has 1 to 128 bytes, not ' || octet_length(p_queue)
        when p_priority not between -3 and 3 then 'a priority is -3 to 3, not ' || p_priority
        when p_max_attempts not between 1 and 1000 then
            'a number of attempts is 1 to 1000, not ' || p_max_attempts
        when (select max(octet_length(k.key)) from unnest(p_keys) as k (key)) > 512 then
            'a key has 512 bytes at most, not '
                || (select max(octet_length(k.key)) from unnest(p_keys) as k (key))
    end;
begin
    if v_wrong is not null then
        raise exception 'jobkit: %', v_wrong
            using errcode = 'JK008', hint = 'Nothing was stored.';
    end if;
end
$$;

-- require_time: refuses a time to run at that not every client can read. Null: at once.
create function jobkit.require_time(p_at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_at not between '0001-01-01 00:00:00 UTC' and '9999-12-31 23:59:59 UTC' then
        raise exception 'jobkit: a time to run at is in the years 1 to 9999, not %', p_at
            using errcode = 'JK008', hint = 'Nothing was stored. Null means at once.';
    end if;
end
$$;

-- require_tags: refuses tags that no worker could read, or that are more than a job may have.
create function jobkit.require_tags(p_tags jsonb[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_wrong text;
begin
    select case
        when jsonb_typeof(t.tags) <> 'array' then 'the tags are no array'
        when jsonb_path_exists(t.tags, 'strict $[*] ? (@.type() != "string")') then
            'a tag is null, or no text'
        when jsonb_array_length(t.tags) > 32 then
            'a job has 32 tags at most, not ' || jsonb_array_length(t.tags)
        when (select max(octet_length(e.tag)) from jsonb_array_elements_text(t.tags) as e (tag))
            > 128 then 'a tag has 128 bytes at most'
    end as wrong
    into v_wrong
    from unnest(p_tags) as t (tags) order by wrong nulls last limit 1;
    if v_wrong is not null then
        raise exception 'jobkit: %', v_wrong
            using errcode = 'JK008', hint = 'Nothing was stored.';
    end if;
end
$$;

-- enqueue: one job, for triggers and other languages. What is left out comes from what a worker
-- announced for the kind:
--   select jobkit.enqueue('send_receipt', '{"order_id": 7}', p_run_at => now() + '1 hour');
create function jobkit.enqueue(
    p_kind text, p_args jsonb default '{}', p_queue text default null,
    p_run_at timestamptz default null, p_priority integer default null,
    p_max_attempts integer default null, p_concurrency_key text default null,
    p_tags text[] default null, p_metadata jsonb default null,
    p_dead_letter_key text default null
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_kind jobkit.kinds;
    v_bytes bigint;
begin
    select * into v_kind from jobkit.kinds k where k.kind = p_kind;
    if not found then
        raise exception 'jobkit: no worker has announced the kind "%"', p_kind
            using errcode = 'JK003',
                hint = 'Start a worker whose binary has this job once, or correct the kind.';
    end if;
    if v_kind.concurrency_group is not null and p_concurrency_key is null then
        raise exception 'jobkit: jobs of the kind "%" need a concurrency key', p_kind
            using errcode = 'JK004', hint = 'Give p_concurrency_key => ….';
    end if;
    if v_kind.concurrency_group is null and p_concurrency_key is not null then
        raise exception 'jobkit: jobs of the kind "%" take no concurrency key', p_kind
            using errcode = 'JK004', hint = 'Leave p_concurrency_key out.';
    end if;
    if p_args is null then
        raise exception 'jobkit: the payload is null'
            using errcode = 'JK008', hint = 'Nothing was stored. JSON has a null of its own.';
    end if;
    v_bytes := octet_length(p_args::text) + coalesce(octet_length(p_metadata::text), 0);
    if v_bytes > 1024 * 1024 then
        raise exception 'jobkit: payload and metadata have % bytes; 1048576 are allowed', v_bytes
            using errcode = 'JK005', hint = 'Store the large part elsewhere and pass its key.';
    end if;
    perform jobkit.require_options(coalesce(p_queue, v_kind.queue),
        coalesce(p_priority, v_kind.priority), coalesce(p_max_attempts, v_kind.max_attempts),
        p_concurrency_key, p_dead_letter_key);
    return jobkit.enqueue_jobs(
        array[p_kind], array[coalesce(p_queue, v_kind.queue)],
        array[coalesce(p_priority, v_kind.priority)::smallint],
        array[coalesce(p_max_attempts, v_kind.max_attempts)::smallint],
        array[null::interval], array[p_run_at], array[v_kind.concurrency_group],
        array[p_concurrency_key], array[p_args], array[to_jsonb(p_tags)], array[p_metadata],
        array[p_dead_letter_key]);
end
$$;
