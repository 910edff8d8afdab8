-- insert_jobs: does the work of `enqueue_all`, for functions that have checked the jobs or chosen
-- their ids. Takes no unique keys (`enqueue_unique`).
--   p_ids      the ids of the jobs; null leaves a job out
--   p_bounded  whether to refuse the jobs if one of their queues is full (`require_room`)
--   p_checked  whether the jobs are known to be valid (`wrong_with`)
-- No row goes through a CTE or a FROM of arrays: that would write all payloads to disk again.
create or replace function jobkit.insert_jobs(
    p jobkit.new_jobs, p_ids bigint[] default null, p_bounded boolean default true,
    p_checked boolean default true
) returns setof bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    -- Not now(), which is when the caller's transaction began.
    v_now constant timestamptz := clock_timestamp();
    v_due timestamptz[] := '{}';                 -- if some are not due at once
    v_later timestamptz;                         -- when the first of these is due
    v_all_later boolean := false;
    v_ids bigint[];
begin
    if array_remove(p.run_at, null) <> '{}' or array_remove(p.delay, null) <> '{}' then
        v_due := array(
            select coalesce(v_now + i.delay, i.run_at, v_now)
            from unnest(p.delay, p.run_at) as i (delay, run_at)
        );
        perform jobkit.require_time(min(d.due)), jobkit.require_time(max(d.due))
        from unnest(v_due) as d (due);
        select min(d.due) filter (where d.due > v_now), bool_and(d.due > v_now)
        into v_later, v_all_later
        from unnest(v_due) as d (due);
    end if;
    perform jobkit.require_tags(p.tags) where array_remove(p.tags, null) <> '{}';
    perform jobkit.require_terms(p.terms) where array_remove(p.terms, null) <> '{}';
    if p_bounded and pg_sequence_last_value('jobkit.bounds_id_seq') is not null then
        -- A full queue refuses all jobs, even if only one is for it.
        perform jobkit.require_room(b.queue) from jobkit.bounds b
        where b.open_until not between v_now and v_now + interval '5 s'
            and b.queue in (select q.queue from unnest(p.queue, p_ids) as q (queue, id)
                where p_ids is null or q.id is not null);
    end if;
    v_ids := coalesce(p_ids, array(
        select nextval('jobkit.jobs_id_seq') from generate_series(1, cardinality(p.kind))));
    if p.batch_id is not null then perform jobkit.join_batch(p.batch_id, v_ids); end if;
    insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at, created_at,
        concurrency_group, concurrency_key, dead_letter_key, args, tags, metadata, version,
        unique_scope, unique_key, unique_while, terms, batch_id, callback_of)
    select i.id, i.kind, i.queue, i.priority, i.max_attempts, coalesce(i.due, v_now), v_now,
        case when i.key is not null then i.grp end, i.key, i.dead_letter_key, i.args::json,
        case when i.tags is not null then array(select jsonb_array_elements_text(i.tags)) end,
        i.metadata, i.version, i.unique_scope, i.unique_key, i.unique_while, i.terms,
        p.batch_id, p.callback_of
    from (
        select unnest(v_ids) as id, unnest(p.kind) as kind, unnest(p.queue) as queue,
            unnest(p.priority) as priority, unnest(p.max_attempts) as max_attempts,
            unnest(v_due) as due, unnest(p.concurrency_group) as grp,
            unnest(p.concurrency_key) as key, unnest(p.dead_letter_key) as dead_letter_key,
            unnest(p.args) as args, unnest(p.tags) as tags, unnest(p.metadata) as metadata,
            unnest(p.version) as version, unnest(p.unique_scope) as unique_scope,
            unnest(p.unique_key) as unique_key, unnest(p.unique_while) as unique_while,
            unnest(p.terms) as terms
    ) i
    where i.id is not null and (p_checked or jobkit.refuse(jobkit.wrong_with(i.kind, i.queue,
        i.priority, i.max_attempts, i.grp, i.key, i.dead_letter_key, i.args, i.metadata,
        i.version)) is null);
    insert into jobkit.ready (queue, priority, job_id, kind, concurrency_group, concurrency_key)
    select i.queue, i.priority, i.id, jobkit.versioned(i.kind, i.version),
        case when i.key is not null then i.grp end, i.key
    from (
        select unnest(v_ids) as id, unnest(p.kind) as kind, unnest(p.queue) as queue,
            unnest(p.priority) as priority, unnest(v_due) as due,
            unnest(p.concurrency_group) as grp, unnest(p.concurrency_key) as key,
            unnest(p.version) as version
    ) i
    where i.id is not null and (i.due is null or i.due <= v_now);
    if v_due <> '{}' then
        insert into jobkit.scheduled (run_at, job_id)
        select i.due, i.id from (select unnest(v_ids) as id, unnest(v_due) as due) i
        where i.due > v_now and i.id is not null;
    end if;
    if v_later is not null then perform jobkit.wake_due(v_later); end if;
    if not v_all_later then perform jobkit.wake(p.queue); end if;
    return query select unnest(v_ids);
end
$$;
