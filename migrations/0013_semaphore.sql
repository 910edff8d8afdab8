-- Permits: who may run of the jobs that share a concurrency key.
--
-- Permits and blocked executions of a key change only under the lock of its row in `semaphores`.
-- Whoever needs several locks takes them in the order of (key, group), after the ROW SHARE lock of
-- `queues` and `concurrency_groups`, after claims and before jobs. What is read to decide is read
-- by a later statement than the one that waited for the lock: an older snapshot would not show
-- what was written meanwhile, and a job would stay blocked for ever.
--
-- A planner that expects few rows, or many, may begin a join at the wrong end and read a whole
-- table, or compare each with each. So rows are looked up one by one in LATERAL subqueries that it
-- cannot flatten (a lock, a LIMIT, OFFSET 0), and changed by where they are (ctid).

-- gate: from here to the end of the transaction no queue is paused or resumed, and no limit of a
-- group changes. For functions that need READ COMMITTED.
create function jobkit.gate() returns void
language plpgsql as $$
begin
    -- Asked before the call: each claim and settle comes here, and it costs more than the question.
    if current_setting('transaction_isolation') <> 'read committed' then
        perform jobkit.require_read_committed();
    end if;
    lock table jobkit.queues, jobkit.concurrency_groups in row share mode;
end
$$;

-- serving: the workers that run jobs of this queue and kind; none while the queue is paused. A
-- worker serves from its registration until it begins to stop or is reaped: facts of the tables,
-- not of a clock, so that what a grant was based on changes by a commit only.
create function jobkit.serving(p_queue text, p_kind text) returns setof bigint
language sql stable as $$
    select w.id from jobkit.workers w
    where not w.stopping and p_queue = any (w.queues) and p_kind = any (w.kinds)
        and not exists (
            select from jobkit.queues q where q.name = p_queue and q.paused_at is not null
        )
$$;

-- limits: semaphores with the limit that holds for each.
create view jobkit.limits as
    select s.*, s.ctid as at,
        coalesce(s.override_limit, g.override_limit, g.default_limit, 1) as effective_limit
    from jobkit.semaphores s
    left join jobkit.concurrency_groups g on g.name = s.concurrency_group;

-- lock_semaphores: locks the semaphores of these jobs' keys that exist, in order; returns them. The
-- lock inside LATERAL makes it one lookup for each key in turn, whatever the planner thinks.
create function jobkit.lock_semaphores(p_jobs bigint[], out groups text[], out keys text[])
language plpgsql as $$
begin
    select coalesce(array_agg(k.grp), '{}'), coalesce(array_agg(k.key), '{}') into groups, keys
    from (
        select distinct j.concurrency_group as grp, j.concurrency_key as key
        from jobkit.jobs j where j.id = any (p_jobs) and j.concurrency_key is not null
        order by 2, 1
    ) k
    cross join lateral (
        select from jobkit.semaphores s
        where s.concurrency_group = k.grp and s.concurrency_key = k.key for update
    ) locked;
end
$$;

-- create_semaphores: makes the semaphores that are missing and locks them all as FOR UPDATE would,
-- in one statement and in order. DO UPDATE … WHERE false locks without writing, and survives a
-- row that is just being forgotten; with DO NOTHING whoever comes second to a fresh key would
-- decide without its lock. Naming a key column makes it the lock of FOR UPDATE, nothing weaker.
create function jobkit.create_semaphores(p_groups text[], p_keys text[]) returns void
language plpgsql as $$
begin
    insert into jobkit.semaphores as s (concurrency_group, concurrency_key)
    select distinct k.grp collate "C", k.key collate "C"
    from unnest(p_groups, p_keys) as k (grp, key)
    order by 2, 1
    on conflict (concurrency_group, concurrency_key)
        do update set concurrency_key = excluded.concurrency_key where false;
end
$$;

-- wait: asks for a permit for each of these jobs, just taken from `ready`. While nothing else waits
-- for its key it may get one at once; else it is blocked, and those that come first among all that
-- wait get what is free. Returns those that got none, and blocks up to 1,000 more of their keys
-- (p_queues, p_kinds: where this worker may look).
create function jobkit.wait(p_jobs bigint[], p_queues text[], p_kinds text[]) returns bigint[]
language plpgsql as $$
declare
    v_denied record;
    v_unblocked bigint[];
    v_mine bigint[];
begin
    select * into v_denied from jobkit.take(p_jobs);
    if v_denied.jobs = '{}' then
        return v_denied.jobs;
    end if;
    perform jobkit.block(v_denied.jobs);
    v_unblocked := array(select jobkit.fill(v_denied.groups, v_denied.keys, null));
    if v_unblocked <> '{}' then
        v_mine := array(select unnest(v_denied.jobs) intersect select unnest(v_unblocked));
        v_denied.jobs := array(select unnest(v_denied.jobs) except select unnest(v_mine));
        -- Those of others take turns in `ready` with all that hold permits.
        perform jobkit.wake(array_agg(distinct u.queue))
        from jobkit.unblock(array(select unnest(v_unblocked) except select unnest(v_mine))) u;
    end if;
    if v_denied.jobs <> '{}' then
        perform jobkit.park(v_denied.jobs, p_queues, p_kinds);
    end if;
    return v_denied.jobs;
end
$$;

-- take: locks the semaphores of these jobs' keys, missing ones are made, and gives permits at once
-- where nothing is blocked and all these jobs of the key can have one. Returns the others, and
-- their keys. The condition is judged on the row as it is when the lock is had, and the limits of
-- groups stand still behind the gate. Writing a key column makes it the lock of FOR UPDATE.
-- Joins of keys that hash: any other plan would compare each with each.
create function jobkit.take(
    p_jobs bigint[], out jobs bigint[], out groups text[], out keys text[]
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_nestloop = off
set enable_mergejoin = off
as $$
begin
    with asking as materialized (
        select j.id, j.concurrency_group as grp, j.concurrency_key as key
        from jobkit.jobs j where j.id = any (p_jobs)
    ), lim as materialized (
        select g.name, coalesce(g.override_limit, g.default_limit) as n
        from jobkit.concurrency_groups g
    ), demand as materialized (
        select a.grp, a.key, case when count(*) <= coalesce(min(l.n), 1) then count(*) else 0 end
            as n
        from asking a left join lim l on l.name = a.grp
        group by a.grp, a.key
    ), semaphore as (
        insert into jobkit.semaphores as s (concurrency_group, concurrency_key, taken)
        select d.grp, d.key, d.n from demand d order by 2, 1
        on conflict (concurrency_group, concurrency_key) do update
            set concurrency_key = excluded.concurrency_key, taken = s.taken + excluded.taken
            where not s.crowded and excluded.taken > 0 and s.taken + excluded.taken <= coalesce(
                s.override_limit, (select l.n from lim l where l.name = s.concurrency_group), 1)
        returning s.concurrency_group as grp, s.concurrency_key as key, s.taken
    ), permit as (
        insert into jobkit.permits (job_id, concurrency_group, concurrency_key)
        select a.id, a.grp, a.key
        from asking a join semaphore s on s.grp = a.grp and s.key = a.key where s.taken > 0
        returning job_id
    ), denied as materialized (
        select a.id, a.grp, a.key from asking a
        where (select count(*) from permit) < cardinality(p_jobs)
            and not exists (select from permit p where p.job_id = a.id)
    ), denied_key as materialized (
        select distinct d.grp, d.key from denied d
    )
    select array(select d.id from denied d), array(select k.grp from denied_key k),
        array(select k.key from denied_key k)
    into jobs, groups, keys;
end
$$;

-- signal: takes back the permits of these jobs, and locks their semaphores. Returns how many there
-- were of each key, and none of the keys the caller names, for `fill`, which has to follow. With
-- p_last none of these jobs asks for a permit again: a semaphore of which nothing is left is
-- forgotten at once, which is judged on the row as it is when the lock is had, and not returned.
create function jobkit.signal(
    p_jobs bigint[], inout groups text[] default '{}', inout keys text[] default '{}',
    out freed integer[], p_last boolean default false
)
language plpgsql as $$
declare
    v_unused tid[];
begin
    with gone as (
        delete from jobkit.permits p where p.job_id = any (p_jobs)
        returning p.concurrency_group as grp, p.concurrency_key as key
    )
    select coalesce(array_agg(k.grp) filter (where not locked.unused), '{}'),
        coalesce(array_agg(k.key) filter (where not locked.unused), '{}'),
        coalesce(array_agg(k.n) filter (where not locked.unused), '{}'),
        array_agg(locked.at) filter (where locked.unused)
    into groups, keys, freed, v_unused
    from (
        select u.grp, u.key, sum(u.n)::integer as n
        from (
            select g.grp, g.key, 1 as n from gone g
            union all
            select l.grp, l.key, 0 from unnest(groups, keys) as l (grp, key)
        ) u
        group by 1, 2 order by 2, 1
    ) k
    cross join lateral (
        select s.ctid as at,
            p_last and not s.crowded and s.taken = k.n and s.override_limit is null as unused
        from jobkit.semaphores s
        where s.concurrency_group = k.grp and s.concurrency_key = k.key for update
    ) locked;
    if v_unused is not null then
        delete from jobkit.semaphores s where s.ctid = any (v_unused);
    end if;
end
$$;

-- block: these jobs wait for a permit of their keys, and `fill` follows.
create function jobkit.block(p_jobs bigint[]) returns void
language plpgsql as $$
begin
    with newly_blocked as (
        insert into jobkit.blocked_executions (concurrency_group, concurrency_key, priority,
            job_id, queue, kind)
        select j.concurrency_group, j.concurrency_key, j.priority, j.id, j.queue, j.kind
        from jobkit.jobs j where j.id = any (p_jobs)
        returning concurrency_group as grp, concurrency_key as key, priority, job_id
    )
    -- A key without others is searched from its first on: no dead entry is in the way.
    update jobkit.semaphores s
    set crowded = true, from_priority = k.priority, from_id = k.job_id
    from (
        select b.grp, b.key, min(b.priority) as priority, min(b.job_id) as job_id
        from newly_blocked b group by b.grp, b.key
    ) k
    cross join lateral (
        select s.ctid as at from jobkit.semaphores s
        where s.concurrency_group = k.grp and s.concurrency_key = k.key
            and (not s.crowded or (k.priority, k.job_id) < (s.from_priority, s.from_id)) offset 0
    ) m
    where s.ctid = m.at;
end
$$;

-- unblock: makes these jobs, which `fill` just gave permits, ready ahead of the backlog. Returns
-- the first of each queue and priority.
create function jobkit.unblock(p_jobs bigint[])
returns table (queue text, priority smallint, job_id bigint)
language plpgsql as $$
begin
    return query
    with made_ready as (
        insert into jobkit.ready (queue, priority, without_permit, job_id, kind,
            concurrency_group, concurrency_key)
        select j.queue, j.priority, false, j.id, j.kind, j.concurrency_group, j.concurrency_key
        from jobkit.jobs j where j.id = any (p_jobs)
        returning ready.queue, ready.priority, ready.job_id
    )
    select r.queue, r.priority, min(r.job_id) from made_ready r group by 1, 2;
end
$$;
