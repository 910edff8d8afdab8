-- fill: gives the free permits of these semaphores, which the caller has locked, to the first
-- blocked executions of each key that somebody serves, in the order of priority, then age: they are
-- ready, ahead of the backlog. p_freed: permits just taken back and not yet subtracted from
-- `taken`, so that a hand-over writes no semaphore. A semaphore that is left with no permit, no
-- blocked execution and no override is forgotten. A key that has more than 1,000 permits to give
-- gives the others in the next fill: after a limit was raised a sweep sees to that.
create function jobkit.fill(p_groups text[], p_keys text[], p_freed integer[])
returns table (queue text, priority smallint, job_id bigint)
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
        select l.at, l.concurrency_group as grp, l.concurrency_key as key, l.crowded, b.*,
            coalesce(cardinality(b.jobs), 0) - f.freed as change,
            b.jobs is null and l.taken = f.freed and l.override_limit is null as unused,
            l.crowded and (b.jobs is not null or (f.free = 0 and l.taken > f.freed) or exists (
                select from jobkit.blocked_executions b
                where b.concurrency_group = k.grp and b.concurrency_key = k.key
            )) as stays_crowded
        from unnest(p_groups, p_keys, p_freed) as k (grp, key, freed)
        cross join lateral (
            select * from jobkit.limits l
            where l.concurrency_group = k.grp and l.concurrency_key = k.key offset 0
        ) l
        cross join lateral (
            select coalesce(k.freed, 0) as freed,
                greatest(0, l.effective_limit - l.taken + coalesce(k.freed, 0)) as free
        ) f
        cross join lateral (
            select array_agg(b.at) as places, array_agg(b.job_id) as jobs,
                array_agg(b.priority) as priorities, array_agg(b.queue) as queues,
                array_agg(b.kind) as kinds
            from (
                select b.ctid as at, b.* from jobkit.blocked_executions b
                where l.crowded and b.concurrency_group = k.grp and b.concurrency_key = k.key
                    and (b.priority, b.job_id) >= (l.from_priority, l.from_id)
                    and exists (select from jobkit.serving(b.queue, b.kind))
                order by b.priority, b.job_id limit least(f.free, f.freed + 1000)
            ) b
        ) b
    ), choice as materialized (
        select c.*, s.grp, s.key from semaphore s
        cross join lateral unnest(s.places, s.jobs, s.priorities, s.queues, s.kinds)
            as c (at, job_id, priority, queue, kind)
    ), unblocked as (
        delete from jobkit.blocked_executions b
        where b.ctid = any (array(select c.at from choice c))
    ), permit as (
        insert into jobkit.permits (job_id, concurrency_group, concurrency_key)
        select c.job_id, c.grp, c.key from choice c
    ), made_ready as (
        insert into jobkit.ready (queue, priority, without_permit, job_id, kind,
            concurrency_group, concurrency_key)
        select c.queue, c.priority, false, c.job_id, c.kind, c.grp, c.key from choice c
    ), forgotten as (
        delete from jobkit.semaphores s
        where s.ctid = any (array(
            select c.at from semaphore c where c.unused and not c.stays_crowded
        ))
    ), counted as (
        update jobkit.semaphores s set taken = s.taken + c.change, crowded = c.stays_crowded
        from semaphore c
        where s.ctid = c.at and (c.change <> 0 or c.stays_crowded <> c.crowded)
            and (c.stays_crowded or not c.unused)
    )
    select c.queue, c.priority, c.job_id from choice c;
    get diagnostics v_granted = row_count;
    -- Slow for so little: the search walked through dead entries, which some transaction elsewhere
    -- pins. The next one begins where something is.
    if clock_timestamp() - v_started
        > interval '500 us' + interval '100 us' * (v_granted + cardinality(p_groups))
    then
        perform jobkit.skip_dead(p_groups, p_keys);
    end if;
end
$$;

-- skip_dead: moves the beginning of the search for blocked executions up to the first there is.
create function jobkit.skip_dead(p_groups text[], p_keys text[]) returns void
language plpgsql as $$
declare
    v_key record;
begin
    for v_key in
        select s.ctid as at, h.priority, h.job_id
        from unnest(p_groups, p_keys) as k (grp, key)
        cross join lateral (
            select s.ctid, s.from_priority, s.from_id from jobkit.semaphores s
            where s.concurrency_group = k.grp and s.concurrency_key = k.key offset 0
        ) s
        cross join lateral (
            select b.priority, b.job_id from jobkit.blocked_executions b
            where b.concurrency_group = k.grp and b.concurrency_key = k.key
                and (b.priority, b.job_id) >= (s.from_priority, s.from_id)
            order by b.priority, b.job_id limit 1
        ) h
        where (s.from_priority, s.from_id) <> (h.priority, h.job_id)
    loop
        update jobkit.semaphores s set from_priority = v_key.priority, from_id = v_key.job_id
        where s.ctid = v_key.at;
    end loop;
end
$$;

-- fill_and_wake: the same for those who do nothing else with what became ready. Returns how many
-- jobs did.
create function jobkit.fill_and_wake(p_groups text[], p_keys text[], p_freed integer[])
returns integer
language plpgsql as $$
declare
    v_queues text[];
    v_unblocked integer;
begin
    select count(*), array_agg(distinct f.queue) into v_unblocked, v_queues
    from jobkit.fill(p_groups, p_keys, p_freed) f;
    if v_unblocked > 0 then
        perform jobkit.wake(v_queues);
    end if;
    return v_unblocked;
end
$$;

-- park: where a key is exhausted, blocks more of its ready jobs, or a backlog of one key would be
-- claimed row by row. Never one that holds a permit.
create function jobkit.park(p_denied bigint[], p_queues text[], p_kinds text[]) returns void
language plpgsql as $$
declare
    v_parked bigint[];
begin
    with exhausted as materialized (
        select j.concurrency_group as grp, j.concurrency_key as key, max(j.id) as after_id,
            greatest(1000 / count(*) over (), 1) as share
        from jobkit.jobs j where j.id = any (p_denied)
        group by 1, 2
    ), taken as (
        delete from jobkit.ready r
        where r.ctid = any (array(
            select m.at from exhausted e
            cross join lateral (
                -- Without a permit for want of one: a job nobody serves gets none either.
                select from jobkit.limits l
                where l.concurrency_group = e.grp and l.concurrency_key = e.key
                    and l.taken >= l.effective_limit offset 0
            ) s
            cross join lateral (
                select q.ctid as at from jobkit.ready q
                where q.concurrency_group = e.grp and q.concurrency_key = e.key
                    and q.without_permit and q.job_id > e.after_id
                    and q.queue = any (p_queues) and q.kind = any (p_kinds)
                order by q.job_id limit e.share for update skip locked
            ) m
        ))
        returning r.job_id
    )
    select coalesce(array_agg(t.job_id), '{}') into v_parked from taken t;
    perform jobkit.block(v_parked);
end
$$;

-- claim_keyed: the part of a claim that waits for other transactions: `wait`, but for no semaphore
-- longer than 100 ms. Then the jobs of the keys that are in other hands go back to ready, and the
-- claim has the others. Returns the jobs it does without.
create function jobkit.claim_keyed(p_jobs bigint[], p_queues text[], p_kinds text[])
returns bigint[]
language plpgsql
set lock_timeout = '100ms'
as $$
declare
    v_key record;
    v_free bigint[] := '{}';
    v_held bigint[] := '{}';
begin
    return jobkit.wait(p_jobs, p_queues, p_kinds);
exception when lock_not_available then
    perform set_config('lock_timeout', '2ms', true);
    for v_key in
        select j.concurrency_group as grp, j.concurrency_key as key, array_agg(j.id) as jobs
        from jobkit.jobs j where j.id = any (p_jobs) group by 1, 2 order by 1, 2
    loop
        begin
            perform jobkit.create_semaphores(array[v_key.grp], array[v_key.key]);
            v_free := v_free || v_key.jobs;
        exception when lock_not_available then
            v_held := v_held || v_key.jobs;
        end;
    end loop;
    insert into jobkit.ready (queue, priority, job_id, kind, concurrency_group, concurrency_key)
    select j.queue, j.priority, j.id, j.kind, j.concurrency_group, j.concurrency_key
    from jobkit.jobs j where j.id = any (v_held);
    if v_free = '{}' then
        return v_held;
    end if;
    return v_held || jobkit.wait(v_free, p_queues, p_kinds);
end
$$;
