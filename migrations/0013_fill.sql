-- fill: gives the free permits of these semaphores, which the caller has locked, to the first
-- blocked executions of each key that somebody serves, in the order of priority, then age. They
-- leave `blocked_executions`: the caller places them. p_freed: permits just taken back and not yet
-- subtracted from `taken`, so that a hand-over writes no semaphore. A semaphore that is left with
-- no permit, no blocked execution and no override is forgotten. A key that has more than 1,000
-- permits to give gives the others in the next fill: after a limit was raised a sweep sees to that.
create function jobkit.fill(p_groups text[], p_keys text[], p_freed integer[])
returns table (
    job_id bigint, queue text, priority smallint, kind text,
    concurrency_group text, concurrency_key text
)
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
        select s.at, s.concurrency_group as grp, s.concurrency_key as key, s.taken,
            s.override_limit, s.from_priority, s.from_id, coalesce(k.freed, 0) as freed,
            greatest(0, coalesce(s.override_limit, g.override_limit, g.default_limit, 1)
                - s.taken + coalesce(k.freed, 0)) as free
        from unnest(p_groups, p_keys, p_freed) as k (grp, key, freed)
        cross join lateral (
            select s.ctid as at, s.* from jobkit.semaphores s
            where s.concurrency_group = k.grp and s.concurrency_key = k.key for update
        ) s
        left join jobkit.concurrency_groups g on g.name = s.concurrency_group
    ), choice as materialized (
        select s.at as semaphore_at, s.grp, s.key, b.at, b.priority, b.job_id, b.queue, b.kind
        from semaphore s
        cross join lateral (
            select b.ctid as at, b.priority, b.job_id, b.queue, b.kind
            from jobkit.blocked_executions b
            where b.concurrency_group = s.grp and b.concurrency_key = s.key
                and (b.priority, b.job_id) >= (s.from_priority, s.from_id)
                and exists (select from jobkit.serving(b.queue, b.kind))
            order by b.priority, b.job_id limit least(s.free, s.freed + 1000)
        ) b
    ), unblocked as (
        delete from jobkit.blocked_executions b
        where b.ctid = any (array(select c.at from choice c))
    ), permit as (
        insert into jobkit.permits (concurrency_group, concurrency_key, job_id)
        select c.grp, c.key, c.job_id from choice c
    ), change as materialized (
        -- Not a join of the two: it could compare each with each.
        select u.at, sum(u.n) as n, bool_and(u.may_go) and (
            select true from jobkit.blocked_executions b
            where b.concurrency_group = min(u.grp) and b.concurrency_key = min(u.key) limit 1
        ) is null as idle
        from (
            select s.at, s.grp, s.key, -s.freed as n,
                s.taken = s.freed and s.override_limit is null as may_go
            from semaphore s
            union all
            select c.semaphore_at, c.grp, c.key, 1, false from choice c
        ) u
        group by u.at
    ), forgotten as (
        delete from jobkit.semaphores s
        where s.ctid = any (array(select c.at from change c where c.idle))
    ), counted as (
        update jobkit.semaphores s set taken = s.taken + c.n
        from change c where c.n <> 0 and not c.idle and s.ctid = c.at
    )
    select c.job_id, c.queue, c.priority, c.kind, c.grp, c.key from choice c;
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

-- pass_on: `fill`, and what got a permit is ready, ahead of the backlog. Returns the first of each
-- queue and priority.
create function jobkit.pass_on(p_groups text[], p_keys text[], p_freed integer[])
returns table (queue text, priority smallint, job_id bigint)
language plpgsql as $$
begin
    return query
    with granted as materialized (
        select * from jobkit.fill(p_groups, p_keys, p_freed)
    ), made_ready as (
        insert into jobkit.ready (queue, priority, without_permit, job_id, kind,
            concurrency_group, concurrency_key)
        select g.queue, g.priority, false, g.job_id, g.kind, g.concurrency_group,
            g.concurrency_key
        from granted g
    )
    select g.queue, g.priority, min(g.job_id) from granted g group by g.queue, g.priority;
end
$$;

-- pass_on_and_wake: the same for those who do nothing else with what became ready.
create function jobkit.pass_on_and_wake(p_groups text[], p_keys text[], p_freed integer[])
returns void
language plpgsql as $$
declare
    v_queues text[];
begin
    v_queues := array(select p.queue from jobkit.pass_on(p_groups, p_keys, p_freed) p);
    if v_queues <> '{}' then
        perform jobkit.wake(v_queues);
    end if;
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
