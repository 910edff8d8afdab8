-- limits: semaphores with the limit that holds for each.
create view jobkit.limits as
    select s.concurrency_group, s.concurrency_key, s.taken, s.override_limit, s.from_priority,
        s.from_id,
        coalesce(s.override_limit, g.override_limit, g.default_limit, 1) as effective_limit
    from jobkit.semaphores s
    left join jobkit.concurrency_groups g on g.name = s.concurrency_group;

-- fill: gives the free permits of these semaphores, which the caller has locked, to jobs that wait
-- for them: p_candidates, which are in no table but `jobs`, and blocked executions, together, in
-- the order of priority, then age. A blocked one gets a permit only while somebody serves it, and
-- becomes ready, ahead of the backlog; a candidate that gets none becomes blocked. p_freed: permits
-- just taken back, not yet subtracted from `taken`, so that a hand-over writes no semaphore. One
-- that is left with no permit, no blocked job and no override is forgotten.
-- Returns who got a permit; candidates among them are the caller's to place.
create function jobkit.fill(
    p_groups text[], p_keys text[], p_freed integer[], p_candidates bigint[]
) returns table (job_id bigint, queue text, priority smallint, candidate boolean)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_started constant timestamptz := clock_timestamp();
    v_granted integer;
begin
    return query
    with semaphore as materialized (
        select s.concurrency_group as grp, s.concurrency_key as key, s.taken, s.override_limit,
            s.from_priority, s.from_id, coalesce(k.freed, 0) as freed,
            greatest(0, coalesce(s.override_limit, g.override_limit, g.default_limit, 1)
                - s.taken + coalesce(k.freed, 0)) as free
        from unnest(p_groups, p_keys, p_freed) as k (grp, key, freed)
        cross join lateral (
            select * from jobkit.semaphores s
            where s.concurrency_group = k.grp and s.concurrency_key = k.key for update
        ) s
        left join jobkit.concurrency_groups g on g.name = s.concurrency_group
    ), waiting as (
        -- Each semaphore is the first in its line, so that no join has to find it again.
        select s.grp, s.key, null::smallint as priority, null::bigint as id, null as queue,
            null as kind, null::boolean as candidate, null::tid as at, s.free, s.from_priority, s.from_id,
            s.taken, s.freed, s.override_limit is not null as stays
        from semaphore s
        union all
        select j.concurrency_group, j.concurrency_key, j.priority, j.id, j.queue, j.kind, true,
            null, null, null, null, null, null, true
        from jobkit.jobs j where j.id = any (p_candidates)
        union all
        select s.grp, s.key, b.priority, b.job_id, b.queue, b.kind, false,
            b.at, null, null, null, null, null, true
        from semaphore s
        cross join lateral (
            select b.ctid as at, b.* from jobkit.blocked_executions b
            where b.concurrency_group = s.grp and b.concurrency_key = s.key
                and (b.priority, b.job_id) >= (s.from_priority, s.from_id)
                and exists (select from jobkit.serving(b.queue, b.kind))
            order by b.priority, b.job_id limit s.free
        ) b
    ), choice as materialized (
        select w.grp, w.key, w.priority, w.id, w.queue, w.kind, w.candidate, w.at, w.taken,
            w.freed, w.stays, row_number() over line - 1 between 1 and first_value(w.free) over line
                as granted,
            (w.priority, w.id) < (first_value(w.from_priority) over line,
                first_value(w.from_id) over line) as early
        from waiting w
        window line as (
            partition by w.grp, w.key order by w.priority nulls first, w.id nulls first
        )
    ), permit as (
        insert into jobkit.permits (concurrency_group, concurrency_key, job_id)
        select c.grp, c.key, c.id from choice c where c.granted
    ), unblocked as (
        delete from jobkit.blocked_executions b
        where b.ctid = any (array(select c.at from choice c where c.granted and not c.candidate))
    ), made_ready as (
        insert into jobkit.ready (queue, priority, without_permit, job_id, kind,
            concurrency_group, concurrency_key)
        select c.queue, c.priority, false, c.id, c.kind, c.grp, c.key
        from choice c where c.granted and not c.candidate
    ), newly_blocked as (
        insert into jobkit.blocked_executions (concurrency_group, concurrency_key, priority,
            job_id, queue, kind)
        select c.grp, c.key, c.priority, c.id, c.queue, c.kind
        from choice c where c.candidate and not c.granted
    ), change as materialized (
        select c.grp, c.key, max(c.taken) as was,
            max(c.taken - c.freed) + count(*) filter (where c.granted) as taken,
            coalesce(bool_or(c.early and not c.granted), false) as early,
            not bool_or(c.stays) and max(c.taken - c.freed) = 0 and not exists (
                select from jobkit.blocked_executions b
                where b.concurrency_group = c.grp and b.concurrency_key = c.key
            ) as idle
        from choice c
        group by c.grp, c.key
    ), forgotten as (
        delete from jobkit.semaphores s using change c
        where c.idle and s.concurrency_group = c.grp and s.concurrency_key = c.key
    ), counted as (
        update jobkit.semaphores s
        set taken = c.taken,
            from_priority = case when c.early then -3 else s.from_priority end,
            from_id = case when c.early then 0 else s.from_id end
        from change c
        where not c.idle and (c.was <> c.taken or c.early)
            and s.concurrency_group = c.grp and s.concurrency_key = c.key
    )
    select c.id, c.queue, c.priority, c.candidate from choice c where c.granted;
    get diagnostics v_granted = row_count;
    -- Slow for so little: the search walked through dead entries, which some transaction elsewhere
    -- pins. The next one begins where something is.
    if clock_timestamp() - v_started
        > interval '500 us' + interval '40 us' * (v_granted + cardinality(p_groups))
    then
        perform jobkit.skip_dead(p_groups, p_keys);
    end if;
end
$$;

-- skip_dead: moves the beginning of the search for blocked executions up to the first there is.
create function jobkit.skip_dead(p_groups text[], p_keys text[]) returns void
language plpgsql as $$
begin
    update jobkit.semaphores s set from_priority = h.priority, from_id = h.job_id
    from unnest(p_groups, p_keys) as k (grp, key)
    cross join lateral (
        select b.priority, b.job_id from jobkit.semaphores f
        join jobkit.blocked_executions b on b.concurrency_group = f.concurrency_group
            and b.concurrency_key = f.concurrency_key
            and (b.priority, b.job_id) >= (f.from_priority, f.from_id)
        where f.concurrency_group = k.grp and f.concurrency_key = k.key
        order by b.priority, b.job_id limit 1
    ) h
    where s.concurrency_group = k.grp and s.concurrency_key = k.key
        and (s.from_priority, s.from_id) <> (h.priority, h.job_id);
end
$$;

-- pass_on: `fill` for those who only have to know in which queues a job became ready.
create function jobkit.pass_on(p_groups text[], p_keys text[], p_freed integer[]) returns text[]
language sql as $$
    select coalesce(array_agg(distinct f.queue), '{}')
    from jobkit.fill(p_groups, p_keys, p_freed, '{}') f
$$;
