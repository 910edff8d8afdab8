-- Permits: who may run of the jobs that share a concurrency key.
--
-- Permits and blocked executions of a key change only under the lock of its row in `semaphores`.
-- Whoever needs several locks takes them in the order of (group, key), after the ROW SHARE lock of
-- `queues` and `concurrency_groups`, after claims and before jobs. What is read to decide is read
-- by a later statement than the one that waited for the lock: an older snapshot would not show
-- what was written meanwhile, and a job would stay blocked for ever.
--
-- A planner that expects few rows, or many, may begin a join at the wrong end and read a whole
-- table, or compare each with each. So rows are looked up one by one in LATERAL subqueries that it
-- cannot flatten (a lock, a LIMIT, OFFSET 0), and changed by where they are (ctid).

-- gate: from here to the end of the transaction no queue is paused or resumed, and no limit of a
-- group changes.
create function jobkit.gate() returns void
language plpgsql as $$
begin
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

-- marked_after: a semaphore whose search begins behind this place. OFFSET 0 keeps it one lookup for
-- each key: a join could begin with all semaphores there are.
create function jobkit.marked_after(
    p_group text, p_key text, p_priority smallint, p_id bigint
) returns table (at tid, priority smallint, job_id bigint)
language sql stable as $$
    select s.ctid, p_priority, p_id from jobkit.semaphores s
    where s.concurrency_group = p_group and s.concurrency_key = p_key
        and (p_priority, p_id) < (s.from_priority, s.from_id) offset 0
$$;

-- lock_semaphores: locks the semaphores of these jobs' keys that exist, in order; returns them. The
-- lock inside LATERAL makes it one lookup for each key in turn, whatever the planner thinks.
create function jobkit.lock_semaphores(p_jobs bigint[], out groups text[], out keys text[])
language plpgsql as $$
begin
    select coalesce(array_agg(k.grp), '{}'), coalesce(array_agg(k.key), '{}') into groups, keys
    from (
        select distinct j.concurrency_group as grp, j.concurrency_key as key
        from jobkit.jobs j where j.id = any (p_jobs) and j.concurrency_key is not null
        order by 1, 2
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
    order by 1, 2
    on conflict (concurrency_group, concurrency_key)
        do update set concurrency_key = excluded.concurrency_key where false;
end
$$;

-- wait: asks for a permit for each of these jobs, just taken from `ready`: they are blocked, and
-- those that come first among all that wait get one at once. Returns those that got none, and
-- blocks up to 1,000 more of their keys (p_queues, p_kinds: where this worker may look).
create function jobkit.wait(p_jobs bigint[], p_queues text[], p_kinds text[]) returns bigint[]
language plpgsql as $$
declare
    v_key record;
    v_denied bigint[];
    v_wake text[];
begin
    select array_agg(k.grp) as groups, array_agg(k.key) as keys into v_key
    from (
        select distinct j.concurrency_group as grp, j.concurrency_key as key
        from jobkit.jobs j where j.id = any (p_jobs)
    ) k;
    perform jobkit.create_semaphores(v_key.groups, v_key.keys);
    perform jobkit.block(p_jobs);
    with granted as materialized (
        select * from jobkit.fill(v_key.groups, v_key.keys, null)
    ), other as materialized (
        -- Blocked before: they take turns in `ready` with all that hold permits.
        select g.job_id from granted g except select unnest(p_jobs)
    ), made_ready as (
        insert into jobkit.ready (queue, priority, without_permit, job_id, kind,
            concurrency_group, concurrency_key)
        select g.queue, g.priority, false, g.job_id, g.kind, g.concurrency_group,
            g.concurrency_key
        from granted g where g.job_id in (select o.job_id from other o)
        returning queue
    )
    select array(select unnest(p_jobs) except select g.job_id from granted g),
        array(select distinct m.queue from made_ready m)
    into v_denied, v_wake;
    if v_denied <> '{}' then
        perform jobkit.park(v_denied, p_queues, p_kinds);
    end if;
    if v_wake <> '{}' then
        perform jobkit.wake(v_wake);
    end if;
    return v_denied;
end
$$;

-- park: where a key is exhausted, blocks more of its ready jobs, or a backlog of one key would be
-- claimed row by row. Never one that holds a permit.
create function jobkit.park(p_denied bigint[], p_queues text[], p_kinds text[]) returns void
language plpgsql as $$
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
                select from jobkit.semaphores s
                left join jobkit.concurrency_groups g on g.name = s.concurrency_group
                where s.concurrency_group = e.grp and s.concurrency_key = e.key and s.taken
                    >= coalesce(s.override_limit, g.override_limit, g.default_limit, 1)
                offset 0
            ) s
            cross join lateral (
                select q.ctid as at from jobkit.ready q
                where q.concurrency_group = e.grp and q.concurrency_key = e.key
                    and q.without_permit and q.job_id > e.after_id
                    and q.queue = any (p_queues) and q.kind = any (p_kinds)
                order by q.job_id limit e.share for update skip locked
            ) m
        ))
        returning r.*
    ), parked as (
        insert into jobkit.blocked_executions (concurrency_group, concurrency_key, priority,
            job_id, queue, kind)
        select t.concurrency_group, t.concurrency_key, t.priority, t.job_id, t.queue, t.kind
        from taken t
        returning concurrency_group as grp, concurrency_key as key, priority, job_id
    )
    update jobkit.semaphores s set from_priority = m.priority, from_id = m.job_id
    from (
        select p.grp, p.key, min(p.priority) as priority, min(p.job_id) as job_id
        from parked p group by p.grp, p.key
    ) l
    cross join lateral jobkit.marked_after(l.grp, l.key, l.priority, l.job_id) m
    where s.ctid = m.at;
end
$$;

-- signal: takes back the permits of these jobs, whose semaphores the caller has locked. Returns how
-- many permits of each key were really there, for `fill`, which has to follow.
create function jobkit.signal(
    p_jobs bigint[], inout groups text[], inout keys text[], out freed integer[]
)
language plpgsql as $$
begin
    with gone as (
        delete from jobkit.permits p
        where p.ctid = any (array(
            select h.at from jobkit.jobs j
            cross join lateral (
                select q.ctid as at from jobkit.permits q
                where q.concurrency_group = j.concurrency_group
                    and q.concurrency_key = j.concurrency_key and q.job_id = j.id offset 0
            ) h
            where j.id = any (p_jobs)
        ))
        returning p.concurrency_group as grp, p.concurrency_key as key
    )
    -- Not a join: it could compare each with each.
    select coalesce(array_agg(k.grp), '{}'), coalesce(array_agg(k.key), '{}'),
        coalesce(array_agg(k.n), '{}')
    into groups, keys, freed
    from (
        select u.grp, u.key, sum(u.n)::integer as n
        from (
            select g.grp, g.key, 1 as n from gone g
            union all
            select l.grp, l.key, 0 from unnest(groups, keys) as l (grp, key)
        ) u
        group by u.grp, u.key
    ) k;
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
    update jobkit.semaphores s set from_priority = m.priority, from_id = m.job_id
    from (
        select b.grp, b.key, min(b.priority) as priority, min(b.job_id) as job_id
        from newly_blocked b group by b.grp, b.key
    ) l
    cross join lateral jobkit.marked_after(l.grp, l.key, l.priority, l.job_id) m
    where s.ctid = m.at;
end
$$;
