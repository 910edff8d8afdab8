-- The safety net under permits. After a start, a resume or a raised limit it gives out what became
-- free; at any other time it should find nothing, and what it finds is counted.

-- When the last periodic sweep began, and how much all of them found that nothing explained.
create table jobkit.sweeps (
    one boolean primary key default true check (one),
    began_at timestamptz not null,
    found bigint not null default 0
);
insert into jobkit.sweeps (began_at) values ('-infinity');

-- sweep_begin: whether the next periodic sweep is due, for the one that asks first, and there is
-- anything that it might look at; and whether a start, a resume or a change of a limit since the
-- last one explains what it may find. One that began later than now did so before the clock stepped
-- back: the next is due, and whatever it finds is explained.
create function jobkit.sweep_begin(p_every interval, out due boolean, out explained boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_last timestamptz;
begin
    select s.began_at into v_last from jobkit.sweeps s
    where clock_timestamp() not between s.began_at and s.began_at + p_every
    for update skip locked;
    due := found;
    -- A start is noted a moment before its commit, and its own sweep follows a moment later.
    v_last := v_last - interval '10 s';
    explained := (v_last > clock_timestamp() - interval '10 s') is true
        or exists (select from jobkit.workers w where w.started_at > v_last)
        or exists (select from jobkit.queues q where q.resumed_at > v_last)
        or exists (select from jobkit.concurrency_groups g where g.changed_at > v_last);
    update jobkit.sweeps s set began_at = clock_timestamp() where due;
    due := due and (
        exists (select from jobkit.permits)
        or exists (select from jobkit.blocked_executions)
        or exists (select from jobkit.jobs j where j.cancel_requested_at is not null)
    );
end
$$;

-- sweep_start: before the sweep of a worker's start. Waits once for everybody who may have decided
-- without having seen that worker: what they leave behind is there for the sweep to find. While it
-- waits everybody waits behind it, so it gives up after p_patience milliseconds.
create function jobkit.sweep_start(p_patience integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
begin
    perform set_config('lock_timeout', p_patience::text, true);
    lock table jobkit.queues in exclusive mode;
end
$$;

-- sweep: fills keys that have free permits and blocked jobs somebody serves, and creates what has
-- no semaphore. Looks at p_limit keys with blocked jobs after the given one, before any lock, and
-- fills 20 of them at most; the next page begins after (last_group, last_key), null when this was
-- the last one. Returns how many jobs became ready; 1,000 or more: perhaps not all there was to
-- give, the same page again.
create function jobkit.sweep(
    p_after_group text, p_after_key text, p_limit integer,
    out unblocked integer, out last_group text, out last_key text
)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set enable_sort = off
as $$
declare
    v_groups text[];
    v_keys text[];
    v_seen integer;
begin
    perform jobkit.gate();
    unblocked := 0;
    with recursive page (grp, key) as (
        (
            select b.concurrency_group, b.concurrency_key from jobkit.blocked_executions b
            where (b.concurrency_group, b.concurrency_key) > (p_after_group, p_after_key)
            order by b.concurrency_group, b.concurrency_key limit 1
        )
        union all
        select n.concurrency_group, n.concurrency_key
        from page p
        cross join lateral (
            select b.concurrency_group, b.concurrency_key from jobkit.blocked_executions b
            where (b.concurrency_group, b.concurrency_key) > (p.grp, p.key)
            order by b.concurrency_group, b.concurrency_key limit 1
        ) n
    ), seen as materialized (
        select p.grp, p.key, row_number() over () as place from page p limit p_limit
    ), starved as (
        select e.grp, e.key, e.place
        from seen e
        left join jobkit.semaphores s
            on s.concurrency_group = e.grp and s.concurrency_key = e.key
        left join jobkit.concurrency_groups g on g.name = e.grp
        where coalesce(s.taken, 0)
                < coalesce(s.override_limit, g.override_limit, g.default_limit, 1)
            and (
                select true from jobkit.blocked_executions b
                where b.concurrency_group = e.grp and b.concurrency_key = e.key
                    and exists (select from jobkit.serving(b.queue, b.kind))
                limit 1
            )
        order by e.place limit 20
    )
    select array(select s.grp from starved s), array(select s.key from starved s),
        count(*), (array_agg(e.grp order by e.place desc))[1],
        (array_agg(e.key order by e.place desc))[1]
    into v_groups, v_keys, v_seen, last_group, last_key
    from seen e;
    -- With so many starved keys the page ends at the last of them.
    if cardinality(v_groups) = 20 then
        last_group := v_groups[20];
        last_key := v_keys[20];
    elsif v_seen < p_limit then
        last_group := null;
        last_key := null;
    end if;
    if v_groups <> '{}' then
        perform jobkit.create_semaphores(v_groups, v_keys);
        update jobkit.semaphores s set crowded = true, from_priority = -3, from_id = 0
        from unnest(v_groups, v_keys) as k (grp, key)
        where s.concurrency_group = k.grp and s.concurrency_key = k.key
            and (s.from_id > 0 or not s.crowded);
        unblocked := jobkit.fill_and_wake(v_groups, v_keys, null);
    end if;
end
$$;

-- ready_queues: queues that have ready jobs, by name, p_most of them (null: all). Steps along the
-- primary key of `ready`, so it reads one row for each, not the backlog.
create function jobkit.ready_queues(p_most integer default null) returns table (queue text)
language sql stable as $$
    with recursive q (n, queue) as (
        (select 1, r.queue from jobkit.ready r order by r.queue limit 1)
        union all
        select q.n + 1, e.queue
        from q
        cross join lateral (
            select r.queue from jobkit.ready r where r.queue > q.queue order by r.queue limit 1
        ) e
        where p_most is null or q.n < p_most
    )
    select q.queue from q
$$;

-- ready_heads: of the first p_queues queues with ready jobs that are not paused the first p_jobs of
-- each lane, by the primary keys of `ready` and `jobs`, and since when each is due; one with a
-- permit since it has that.
create function jobkit.ready_heads(p_queues integer, p_jobs integer)
returns table (queue text, kind text, due timestamptz)
language sql stable as $$
    select q.queue, h.kind, j.due
    from jobkit.ready_queues(p_queues) q
    cross join generate_series(-3, 3) as p (priority)
    cross join unnest('{f,t}'::boolean[]) as w (without_permit)
    cross join lateral (
        select r.job_id, r.kind from jobkit.ready r
        where r.queue = q.queue and r.priority = p.priority and r.without_permit = w.without_permit
        order by r.job_id limit p_jobs
    ) h
    cross join lateral (
        select greatest(j.run_at, j.created_at, (
            select m.since from jobkit.permits m where m.job_id = h.job_id and not w.without_permit
        )) as due
        from jobkit.jobs j where j.id = h.job_id offset 0
    ) j
    where not exists (
        select from jobkit.queues s where s.name = q.queue and s.paused_at is not null
    )
$$;

-- sweep_unserved: permits of ready jobs that nobody serves any more go to others of their keys.
-- Of each queue it reads permit holders only.
create function jobkit.sweep_unserved(p_limit integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_jobs bigint[];
begin
    perform jobkit.gate();
    select coalesce(array_agg(h.job_id), '{}') into v_jobs
    from (
        select r.job_id from jobkit.ready_queues() q
        cross join generate_series(-3, 3) as p (priority)
        -- Each in its own probe: a join could walk all that is ready.
        cross join lateral (
            select r.job_id, r.queue, r.kind from jobkit.ready r
            where r.queue = q.queue and r.priority = p.priority and not r.without_permit
            offset 0
        ) r
        where not exists (select from jobkit.serving(r.queue, r.kind))
        limit p_limit
    ) h;
    return jobkit.take_back(v_jobs);
end
$$;

-- sweep_cancelled: waiting jobs that were marked a while ago (or later than now, before the clock
-- stepped back); whoever marked them did not get round to taking them.
create function jobkit.sweep_cancelled(p_limit integer) returns integer
language sql
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select count(*)::integer from jobkit.cancel_take(array(
        select j.id from jobkit.jobs j
        where clock_timestamp() not between j.cancel_requested_at
                and j.cancel_requested_at + interval '10 s'
            and not exists (select from jobkit.claims c where j.id = any (c.job_ids))
        order by j.id limit p_limit
    ), 'cancel', 'cancelled')
$$;

-- sweep_note: adds to what was found and nothing explained.
create function jobkit.sweep_note(p_found integer) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
    update jobkit.sweeps set found = found + p_found
$$;
