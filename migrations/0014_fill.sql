-- fill: gives the free permits of these semaphores, which the caller has locked, to the first
-- blocked executions of each key that somebody serves, in the order of priority, then age. The
-- caller claims what this returns, or makes it ready (`unblock`). p_freed: permits just taken back
-- and not yet subtracted from `taken`, so that a hand-over writes no semaphore. A semaphore that is
-- left with no permit, no blocked execution and no override is forgotten. A key with more than
-- 1,000 to give gives the others in the next fill: after a raised limit a sweep sees to that.
-- Callers set how it is planned (`fill_and_wake`, claim, settle), and so for `hand_over`, `relay`.
create function jobkit.fill(p_groups text[], p_keys text[], p_freed integer[])
returns setof bigint
language plpgsql as $$
declare
    v_started constant timestamptz := clock_timestamp();
    v_granted integer;
begin
    return query
    with choice as materialized (
        select l.at, l.concurrency_group as grp, l.concurrency_key as key, l.crowded, l.taken,
            l.override_limit, f.freed, f.free, b.at as place, b.job_id
        from unnest(p_groups, p_keys, p_freed) as k (grp, key, freed)
        cross join lateral (
            select * from jobkit.limits l
            where l.concurrency_group = k.grp and l.concurrency_key = k.key limit 1
        ) l
        cross join lateral (
            select coalesce(k.freed, 0) as freed,
                greatest(0, l.effective_limit - l.taken + coalesce(k.freed, 0)) as free
        ) f
        left join lateral (
            select b.ctid as at, b.job_id from jobkit.blocked_executions b
            where l.crowded and b.concurrency_group = k.grp and b.concurrency_key = k.key
                and (b.priority, b.job_id) >= (l.from_priority, l.from_id)
                and exists (select from jobkit.serving(b.queue, b.kind))
            order by b.priority, b.job_id limit least(f.free, f.freed + 1000)
        ) b on true
    ), semaphore as materialized (
        select c.at, c.crowded, count(c.job_id) - c.freed as change,
            count(c.job_id) = 0 and c.taken = c.freed and c.override_limit is null as unused,
            c.crowded and (count(c.job_id) > 0 or (c.free = 0 and c.taken > c.freed) or exists (
                select from jobkit.blocked_executions b
                where b.concurrency_group = c.grp and b.concurrency_key = c.key offset 0
            )) as stays_crowded
        from choice c
        group by c.at, c.grp, c.key, c.crowded, c.taken, c.override_limit, c.freed, c.free
    ), unblocked as (
        delete from jobkit.blocked_executions b
        where b.ctid = any (array(select c.place from choice c where c.place is not null))
    ), permit as (
        insert into jobkit.permits (job_id, concurrency_group, concurrency_key)
        select c.job_id, c.grp, c.key from choice c where c.job_id is not null
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
    select c.job_id from choice c where c.job_id is not null;
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

-- fill_and_wake: all of it, for those who do nothing else with what became ready. Returns how many
-- jobs did.
create function jobkit.fill_and_wake(p_groups text[], p_keys text[], p_freed integer[])
returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_unblocked constant bigint[] := array(select jobkit.fill(p_groups, p_keys, p_freed));
begin
    if v_unblocked <> '{}' then
        perform jobkit.wake(array_agg(distinct u.queue)) from jobkit.unblock(v_unblocked) u;
    end if;
    return cardinality(v_unblocked);
end
$$;

-- hand_over: the worker whose settle freed the permits that these jobs got takes them at once, as
-- far as it has room: the next job of a key costs no call and no commit. Returns those it took.
-- Crash suspects begin by other rules, and at most 8 MiB of payload go along.
-- Never waits for the worker's row: whoever reaps it comes for the claims that we hold.
create function jobkit.hand_over(
    p_worker bigint, p_n bigint, p_jobs bigint[], p_queues text[], p_room integer[]
) returns bigint[]
language plpgsql as $$
declare
    v_claimed bigint[];
begin
    with fitting as (
        select j.id, j.dead_letter_id,
            p_room[array_position(p_queues, j.queue)] as room,
            row_number() over (partition by j.queue order by j.priority, j.id) as place,
            sum(pg_column_size(j.args) + coalesce(pg_column_size(j.metadata), 0))
                over (order by j.priority, j.id) as size
        from (
            select w.kinds from jobkit.workers w
            where w.id = p_worker and w.lease_until > clock_timestamp() and not w.stopping
            for key share skip locked
        ) w
        join jobkit.jobs j on j.id = any (p_jobs) and j.kind = any (w.kinds) and j.crashes < 2
    ), claimed as (
        insert into jobkit.claims (worker_id, n, job_ids, keyed, replays)
        select p_worker, p_n, array_agg(f.id), true, bool_or(f.dead_letter_id is not null)
        from fitting f where f.place <= f.room and f.size <= 8 * 1024 * 1024
        having count(*) > 0
        returning job_ids
    )
    select c.job_ids into v_claimed from claimed c;
    return v_claimed;
end
$$;

-- relay: signal, fill and `hand_over` in one step where one job takes the place of one that ended,
-- the common case of a busy key: the permit passes on, and the semaphore stays as it is. Returns
-- that job. Where anything else is due it returns null, and has locked the semaphore, no more.
create function jobkit.relay(
    p_worker bigint, p_n bigint, p_ended bigint, p_queues text[], p_room integer[]
) returns bigint[]
language plpgsql as $$
declare
    v_started timestamptz;
    v_key record;
    v_claimed bigint[];
begin
    select p.ctid as permit, p.concurrency_group as grp, p.concurrency_key as key, s.* into v_key
    from jobkit.permits p
    cross join lateral (
        select s.ctid as at, s.crowded from jobkit.semaphores s
        where s.concurrency_group = p.concurrency_group and s.concurrency_key = p.concurrency_key
        for update
    ) s
    where p.job_id = p_ended;
    if v_key.crowded is not true then
        return null;
    end if;
    v_started := clock_timestamp();
    with choice as materialized (
        select n.at, j.id, j.dead_letter_id is not null as replays
        from jobkit.limits l
        cross join lateral (
            select n.ctid as at, n.job_id from jobkit.blocked_executions n
            where n.concurrency_group = v_key.grp and n.concurrency_key = v_key.key
                and (n.priority, n.job_id) >= (l.from_priority, l.from_id)
                and exists (select from jobkit.serving(n.queue, n.kind))
            order by n.priority, n.job_id limit 1
        ) n
        cross join lateral (
            select w.kinds from jobkit.workers w
            where w.id = p_worker and w.lease_until > clock_timestamp() and not w.stopping
            for key share skip locked
        ) w
        cross join lateral (select * from jobkit.jobs j where j.id = n.job_id offset 0) j
        where l.at = v_key.at and l.taken = l.effective_limit and j.crashes < 2
            and j.kind = any (w.kinds) and p_room[array_position(p_queues, j.queue)] > 0
            and pg_column_size(j.args) + coalesce(pg_column_size(j.metadata), 0) <= 8 * 1024 * 1024
    ), unblocked as (
        delete from jobkit.blocked_executions b
        where b.ctid = any (array(select c.at from choice c))
    ), permit as (
        update jobkit.permits p set job_id = c.id, since = clock_timestamp()
        from choice c where p.ctid = v_key.permit
    )
    insert into jobkit.claims (worker_id, n, job_ids, keyed, replays)
    select p_worker, p_n, array[c.id], true, c.replays from choice c
    returning job_ids into v_claimed;
    if clock_timestamp() - v_started > interval '700 us' then
        perform jobkit.skip_dead(array[v_key.grp], array[v_key.key]);
    end if;
    return v_claimed;
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
