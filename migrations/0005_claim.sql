-- claimed: a row of the answer. A type: the columns of a TABLE are looked up again by each call.
create type jobkit.claimed as (
    queue_number integer, waiting integer, gone integer, scan_us bigint, lowest bigint,
    job_id bigint, kind text, lane integer, attempt integer, max_attempts smallint,
    crashes integer, snoozes integer, created_at timestamptz, cancelled boolean, keyed boolean,
    args jsonb, tags text[], metadata jsonb, waited interval
);

-- claim: takes ready jobs for a worker, in the order of priority, then age.
--   p_n           number of this call, counted by the worker; (p_worker, p_n) is the fencing token
--   p_kinds       kinds the worker knows; others are left alone
--   p_queues, p_slots, p_from_start   queues served, how many jobs fit, where the scan begins
--   p_marks       14 low-water marks for each queue, one for each (priority, without_permit):
--                 a scan that does not begin at the start takes only ids above its mark
-- A job with a concurrency key that holds no permit yet asks for one, and is blocked without. A
-- paused queue is passed over; no claim that looked before the pause commits after it.
-- Returns the jobs in any order, and rows without a job_id: how long the scan of all queues took;
-- for each queue with jobs that got no permit, how many (`waiting`); and how many ready rows had no
-- job (`gone`), if some had none or some jobs went back. The lane of a job is that of its priority
-- without a permit; so when some held or needed one there is a row for each queue and lane with the
-- lowest id picked (`lowest`). At most 8 MiB of payload, but always one job: the rest goes back.
-- Each statement and each expression in here is a part of how long a lone job waits: what only
-- permits or large payloads need is read when there are some.
-- Settings: the scan must follow the primary key whatever the statistics say, and one plan serves
-- every call; the price put on other plans must not make the server compile this one.
create function jobkit.claim(
    p_worker bigint, p_n bigint, p_kinds text[], p_queues text[], p_slots integer[],
    p_from_start boolean[], p_marks bigint[]
) returns setof jobkit.claimed
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
    v_paused text[];
    v_started timestamptz;
    v_at tid[];
    v_ids bigint[];
    v_plain boolean;                             -- none of them held or needs a permit
    v_some record;
    v_keyed bigint[] := '{}';                    -- those that need one …
    v_denied bigint[];                           -- … and got none
    v_replays boolean;
    v_row jobkit.claimed;
begin
    perform jobkit.gate();
    -- A claim that committed after its worker was reaped would be orphaned: the reaper's DELETE
    -- waits for this lock, or we wait for the DELETE and find nothing.
    select clock_timestamp(), array(
        select p.name from jobkit.queues p
        where p.name = any (p_queues) and p.paused_at is not null
    )
    into v_started, v_paused
    from jobkit.workers w
    where w.id = p_worker and w.lease_until > clock_timestamp() for key share;
    if not found then
        raise exception 'jobkit: worker % has no lease', p_worker using errcode = 'JK001';
    end if;

    if not (true = all (p_from_start)) then
        -- Lane by lane above the marks, until the slots are full. What others are taking (xmax) is
        -- passed over, since the attempt to lock it costs more than a row that is taken; what they
        -- gave up again is found by the next scan from the start.
        v_at := array(
            select n.at
            from unnest(p_queues, p_slots, p_from_start)
                with ordinality as q (name, slots, from_start, number)
            cross join lateral (
                select n.at
                from (
                    select l.lane, case when q.from_start then 0
                        else p_marks[(q.number - 1) * 14 + l.lane + 1] end as mark
                    from generate_series(0, 13) as l (lane)
                ) l
                cross join lateral (
                    select n.ctid as at from jobkit.ready n
                    where n.queue = q.name and n.kind = any (p_kinds)
                        and n.priority = l.lane / 2 - 3
                        and n.without_permit = (l.lane % 2 = 1)
                        and n.job_id > l.mark and (q.from_start or n.xmax = '0')
                    order by n.job_id limit q.slots for update skip locked
                ) n
                limit q.slots
            ) n
            where q.name <> all (v_paused)
        );
    end if;
    with picked as (
        delete from jobkit.ready r
        where r.ctid = any (coalesce(v_at, array(
            select f.at
            from unnest(p_queues, p_slots) as q (name, slots)
            cross join lateral (
                select f.ctid as at from jobkit.ready f
                where f.queue = q.name and f.kind = any (p_kinds)
                order by f.priority, f.without_permit, f.job_id
                limit q.slots for update of f skip locked
            ) f
            where q.name <> all (v_paused)
        )))
        returning r.job_id, r.without_permit and r.concurrency_key is null as plain
    )
    select array_agg(p.job_id), bool_and(p.plain),
        extract(epoch from clock_timestamp() - v_started) * 1000000
    into v_ids, v_plain, v_row.scan_us
    from picked p;
    return next v_row;

    if not v_plain then
        -- Where the next scan of a lane may begin, although no job came of what this one picked.
        for v_some in
            select p.q, p.lane, min(p.id) as id, array_agg(p.id) filter (where p.needy) as needy
            from (
                select j.id, coalesce(array_position(p_queues, j.queue), 1) as q,
                    j.concurrency_key is not null and h.held is null as needy,
                    (j.priority + 3) * 2 + (h.held is null)::integer as lane
                from jobkit.jobs j
                left join lateral (
                    select true as held from jobkit.permits h where h.job_id = j.id offset 0
                ) h on true
                where j.id = any (v_ids)
            ) p
            group by p.q, p.lane
        loop
            v_row := null;
            v_row.queue_number := v_some.q;
            v_row.lane := v_some.lane;
            v_row.lowest := v_some.id;
            return next v_row;
            v_keyed := v_keyed || v_some.needy;
        end loop;
        if v_keyed <> '{}' then
            v_denied := jobkit.claim_keyed(v_keyed, p_queues, p_kinds);
        end if;
        if v_denied <> '{}' then
            v_row := null;
            for v_some in
                select coalesce(array_position(p_queues, j.queue), 1) as q, count(*) as n
                from jobkit.jobs j where j.id = any (v_denied) group by 1
            loop
                v_row.queue_number := v_some.q;
                v_row.waiting := v_some.n;
                return next v_row;
            end loop;
            -- Not a join: it could compare each with each.
            v_ids := array(select unnest(v_ids) except select unnest(v_denied));
        end if;
    end if;

    if v_ids <> '{}' then
        -- Mostly this looks at all of them and notes them, in one statement.
        insert into jobkit.claims (worker_id, n, job_ids, keyed, replays)
        select p_worker, p_n, v_ids, not v_plain, bool_or(j.dead_letter_id is not null)
        from jobkit.jobs j where j.id = any (v_ids)
        having count(*) = cardinality(v_ids) and (count(*) = 1 or sum(
            pg_column_size(j.args) + coalesce(pg_column_size(j.metadata), 0)) <= 8 * 1024 * 1024);
        if not found then
            v_row := null;
            select * into v_ids, v_replays, v_row.gone
            from jobkit.claim_within(v_ids, p_queues, 8 * 1024 * 1024);
            return next v_row;
            insert into jobkit.claims (worker_id, n, job_ids, keyed, replays)
            select p_worker, p_n, v_ids, not v_plain, v_replays where v_ids <> '{}';
        end if;
        -- By the ids alone, not a join of them: this is most of what a claim costs.
        return query
        select coalesce(array_position(p_queues, j.queue), 1), null::integer, null::integer,
            null::bigint, null::bigint, j.id, j.kind, j.priority * 2 + 7,
            j.attempt + 1, j.max_attempts, j.crashes, j.snoozes, j.created_at,
            j.cancel_requested_at is not null, j.concurrency_key is not null, j.args, j.tags,
            j.metadata, clock_timestamp() - greatest(j.run_at, j.created_at)
        from jobkit.jobs j where j.id = any (v_ids);
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
        from jobkit.jobs j where j.id = any (p_jobs) group by 1, 2 order by 2, 1
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

-- claim_within: cuts a claim down to a number of bytes of payload, but to no less than one job: of
-- the first queue first, each in the order of priority, then permit, then age. The rest goes back
-- to ready, with its permits: by now every job with a key has one. A ready row without a job is
-- gone.
-- Returns what stays, whether dead letters are replayed by it, and how many had no job.
-- Payloads are stored uncompressed: their stored size is their size.
create function jobkit.claim_within(
    p_ids bigint[], p_queues text[], p_budget bigint,
    out ids bigint[], out replays boolean, out gone integer
)
language plpgsql as $$
begin
    with picked as materialized (
        select j.id, j.queue, j.priority, j.kind, j.concurrency_group, j.concurrency_key,
            j.dead_letter_id, row_number() over w = 1
            or sum(pg_column_size(j.args) + coalesce(pg_column_size(j.metadata), 0)) over w
                <= p_budget as fits
        from jobkit.jobs j where j.id = any (p_ids)
        window w as (order by array_position(p_queues, j.queue), j.priority,
            j.concurrency_key is null, j.id)
    ), returned as (
        insert into jobkit.ready (queue, priority, without_permit, job_id, kind,
            concurrency_group, concurrency_key)
        select p.queue, p.priority, p.concurrency_key is null, p.id, p.kind,
            p.concurrency_group, p.concurrency_key
        from picked p where not p.fits
    )
    select coalesce(array_agg(p.id) filter (where p.fits), '{}'),
        coalesce(bool_or(p.dead_letter_id is not null) filter (where p.fits), false),
        cardinality(p_ids) - count(*)
    into ids, replays, gone from picked p;
end
$$;
