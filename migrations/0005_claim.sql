-- claim: takes ready jobs for a worker, in the order of priority, then age.
--   p_n           number of this call, counted by the worker; (p_worker, p_n) is the fencing token
--   p_kinds       kinds the worker knows; others are left alone
--   p_queues, p_slots, p_from_start   queues served, how many jobs fit, where the scan begins
--   p_marks       14 low-water marks for each queue, one for each (priority, without_permit):
--                 a scan that does not begin at the start takes only ids above its mark
-- A job with a concurrency key that holds no permit yet asks for one, and is blocked without. A
-- paused queue is passed over; no claim that looked before the pause commits after it.
-- Returns the jobs in any order and how long they have been due, and a row for each queue (job_id
-- null) with the rows picked, how many of them got no permit, and the time the scan took. The lane
-- of a job is that of its priority without a permit; so when some held or needed one there is a row
-- for each queue and lane with the lowest id picked (`lowest` not null). At most 8 MiB of payload,
-- but always one job: the rest goes back.
-- Settings: the scan must follow the primary key whatever the statistics say, and one plan serves
-- every call; the price put on other plans must not make the server compile this one.
create function jobkit.claim(
    p_worker bigint, p_n bigint, p_kinds text[], p_queues text[], p_slots integer[],
    p_from_start boolean[], p_marks bigint[]
) returns table (
    queue_number integer, picked integer, waiting integer, scan_us bigint,
    lowest bigint, job_id bigint, kind text, lane smallint, attempt integer, max_attempts smallint,
    crashes integer, snoozes integer, created_at timestamptz, cancelled boolean, keyed boolean,
    args jsonb, tags text[], metadata jsonb, waited interval
)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
    v_budget constant bigint := 8 * 1024 * 1024;
    v_ids bigint[] := '{}';
    v_queue_of integer[] := '{}';
    v_lane_of smallint[] := '{}';
    v_picked integer[] := '{}';
    v_waiting integer[] := array_fill(0, array[cardinality(p_queues)]);
    v_took bigint[] := '{}';
    v_keyed bigint[] := '{}';                    -- picked, and in need of a permit
    v_denied bigint[] := '{}';                   -- … and without one
    v_plain boolean := true;                     -- none of them held or needs a permit
    v_scan record;
    v_found record;
    v_started timestamptz;
    v_count integer;
begin
    perform jobkit.gate();
    -- A claim that committed after its worker was reaped would be orphaned: the reaper's DELETE
    -- waits for this lock, or we wait for the DELETE and find nothing.
    perform from jobkit.workers w
    where w.id = p_worker and w.lease_until > clock_timestamp() for key share;
    if not found then
        raise exception 'jobkit: worker % has no lease', p_worker using errcode = 'JK001';
    end if;

    for q in 1 .. cardinality(p_queues) loop
        v_started := clock_timestamp();
        -- From the start, or lane by lane above the marks: it stops as soon as the slots are full.
        with picked as (
            delete from jobkit.ready r
            where r.ctid = any (array(
                select s.at
                from (
                    select f.at
                    from (
                        select f.ctid as at from jobkit.ready f
                        where f.queue = p_queues[q] and f.kind = any (p_kinds)
                        order by f.priority, f.without_permit, f.job_id
                        limit p_slots[q] for update of f skip locked
                    ) f
                    where p_from_start[q]
                    union all
                    select n.at
                    from (
                        select l.lane, p_marks[(q - 1) * 14 + l.lane + 1] as mark
                        from generate_series(0, 13) as l (lane) where not p_from_start[q]
                    ) l
                    cross join lateral (
                        select n.ctid as at from jobkit.ready n
                        where n.queue = p_queues[q] and n.kind = any (p_kinds)
                            and n.priority = l.lane / 2 - 3
                            and n.without_permit = (l.lane % 2 = 1)
                            and n.job_id > l.mark
                        order by n.job_id limit p_slots[q] for update skip locked
                    ) n
                ) s
                where not exists (
                    select from jobkit.queues p
                    where p.name = p_queues[q] and p.paused_at is not null
                )
                limit p_slots[q]
            ))
            returning r.job_id, r.without_permit,
                ((r.priority + 3) * 2 + r.without_permit::integer)::smallint as lane,
                r.concurrency_key is not null and r.without_permit as keyed
        )
        select v_ids || coalesce(array_agg(p.job_id), '{}'),
            v_lane_of || coalesce(array_agg(p.lane), '{}'),
            v_keyed || coalesce(array_agg(p.job_id) filter (where p.keyed), '{}'),
            v_plain and coalesce(bool_and(p.without_permit and not p.keyed), true), count(*)
        into v_ids, v_lane_of, v_keyed, v_plain, v_count
        from picked p;
        v_queue_of := v_queue_of || array_fill(q, array[v_count]);
        v_picked := v_picked || v_count;
        v_took := v_took
            || (extract(epoch from clock_timestamp() - v_started) * 1000000)::bigint;
    end loop;

    if v_keyed <> '{}' then
        v_denied := jobkit.claim_keyed(v_keyed, p_queues, p_kinds);
    end if;
    if not v_plain then
        -- Where the next scan of a lane may begin, although no job came of what this one picked.
        for v_scan in
            select p.q, p.lane, min(p.id) as lowest
            from unnest(v_ids, v_queue_of, v_lane_of) as p (id, q, lane) group by p.q, p.lane
        loop
            queue_number := v_scan.q;
            lane := v_scan.lane;
            lowest := v_scan.lowest;
            return next;
        end loop;
    end if;
    if v_denied <> '{}' then
        -- Not a join: it could compare each with each.
        select coalesce(array_agg(p.id), '{}'), coalesce(array_agg(p.q), '{}'),
            coalesce(array_agg(p.lane), '{}')
        into v_ids, v_queue_of, v_lane_of
        from (
            select u.id, max(u.q) as q, max(u.lane) as lane
            from (
                select p.id, p.q, p.lane, 0 as denied
                from unnest(v_ids, v_queue_of, v_lane_of) as p (id, q, lane)
                union all
                select d.id, null, null, 1 from unnest(v_denied) as d (id)
            ) u
            group by u.id having max(u.denied) = 0
        ) p;
        for q in 1 .. cardinality(p_queues) loop
            v_waiting[q] := v_picked[q] - cardinality(array_positions(v_queue_of, q));
        end loop;
    end if;

    if v_ids <> '{}' then
        select count(*) as jobs, bool_or(j.dead_letter_id is not null) as replays,
            sum(pg_column_size(j.args) + coalesce(pg_column_size(j.metadata), 0)) as size
        into v_found
        from jobkit.jobs j where j.id = any (v_ids);
        if v_found.size > v_budget then
            v_scan := jobkit.claim_within(v_ids, v_queue_of, v_lane_of, v_keyed, v_budget);
            v_ids := v_scan.ids;
            for q in 1 .. cardinality(p_queues) loop
                v_picked[q] := v_waiting[q] + cardinality(array_positions(v_scan.queue_of, q));
            end loop;
        elsif v_found.jobs < cardinality(v_ids) then
            -- A ready row whose job is gone is gone now, too.
            v_ids := array(select j.id from jobkit.jobs j where j.id = any (v_ids));
        end if;
    end if;
    -- By the ids alone, not a join of them: this is most of what a claim costs.
    if v_ids <> '{}' then
        insert into jobkit.claims (worker_id, n, job_ids, keyed, replays)
        values (p_worker, p_n, v_ids, not v_plain, v_found.replays);
        return query
        select coalesce(array_position(p_queues, j.queue::text), 1), null::integer, null::integer,
            null::bigint, null::bigint, j.id, j.kind::text, (j.priority * 2 + 7)::smallint,
            j.attempt + 1,
            j.max_attempts::smallint, j.crashes, j.snoozes, j.created_at,
            j.cancel_requested_at is not null, j.concurrency_key is not null,
            j.args, j.tags, j.metadata,
            clock_timestamp() - greatest(j.run_at, j.created_at)
        from jobkit.jobs j where j.id = any (v_ids);
    end if;
    for q in 1 .. cardinality(p_queues) loop
        queue_number := q;
        picked := v_picked[q];
        waiting := v_waiting[q];
        scan_us := v_took[q];
        lowest := null;
        return next;
    end loop;
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
-- the first queue first, each in the order of the claim. The rest goes back to ready, with its
-- permits. Returns what stays. Payloads are stored uncompressed: their stored size is their size.
create function jobkit.claim_within(
    p_ids bigint[], p_queue_of integer[], p_lane_of smallint[], p_keyed bigint[], p_budget bigint,
    out ids bigint[], out queue_of integer[]
)
language plpgsql as $$
begin
    with picked as materialized (
        select j.id, p.q, p.lane, row_number() over w = 1
            or sum(pg_column_size(j.args) + coalesce(pg_column_size(j.metadata), 0)) over w
                <= p_budget as fits
        from unnest(p_ids, p_queue_of, p_lane_of) as p (id, q, lane)
        join jobkit.jobs j on j.id = p.id
        window w as (order by p.q, p.lane, p.id)
    ), returned as (
        insert into jobkit.ready (queue, priority, without_permit, job_id, kind,
            concurrency_group, concurrency_key)
        select j.queue, j.priority, p.lane % 2 = 1 and j.id <> all (p_keyed), j.id, j.kind,
            j.concurrency_group, j.concurrency_key
        from picked p join jobkit.jobs j on j.id = p.id where not p.fits
    )
    select array_agg(p.id), array_agg(p.q) into ids, queue_of from picked p where p.fits;
end
$$;
