-- claim: takes ready jobs for a worker, in the order of priority, then age.
--   p_n           number of this call, counted by the worker; (p_worker, p_n) is the fencing token
--   p_kinds       kinds the worker knows; others are left alone
--   p_queues, p_slots, p_from_start   queues served, how many jobs fit, where the scan begins
--   p_marks       14 low-water marks for each queue, one for each (priority, without_permit):
--                 a scan that does not begin at the start takes only ids above its mark
-- A job with a concurrency key that holds no permit yet asks for one, and is blocked without. A
-- paused queue is passed over; no claim that looked before the pause commits after it.
-- Returns the jobs and how long they have been due, and a row for each queue (job_id null) with the
-- rows picked, how many of them got no permit, and the time the scan took; and when some got none,
-- for each queue and lane the lowest id picked (`lowest` not null). At most 8 MiB of payload, but
-- always one job: the rest goes back.
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
    v_paused text[];
    v_scan record;
    v_started timestamptz;
    v_count integer;
begin
    perform jobkit.require_read_committed();
    -- A claim that committed after its worker was reaped would be orphaned: the reaper's DELETE
    -- waits for this lock, or we wait for the DELETE and find nothing.
    perform from jobkit.workers w
    where w.id = p_worker and w.lease_until > clock_timestamp() for key share;
    if not found then
        raise exception 'jobkit: worker % has no lease', p_worker using errcode = 'JK001';
    end if;
    perform jobkit.gate();
    v_paused := array(select p.name from jobkit.queues p where p.paused_at is not null);

    for q in 1 .. cardinality(p_queues) loop
        v_started := clock_timestamp();
        -- Lane by lane, in one statement: it stops as soon as the slots are full.
        with picked as (
            delete from jobkit.ready r
            where r.ctid = any (array(
                select s.at
                from (
                    select l.lane,
                        case when p_from_start[q] then -1
                            else p_marks[(q - 1) * 14 + l.lane + 1] end as mark
                    from generate_series(0, 13) as l (lane)
                    where p_queues[q] <> all (v_paused)
                ) l
                cross join lateral (
                    select n.ctid as at from jobkit.ready n
                    where n.queue = p_queues[q] and n.kind = any (p_kinds)
                        and n.priority = l.lane / 2 - 3
                        and n.without_permit = (l.lane % 2 = 1)
                        and n.job_id > l.mark
                    order by n.job_id limit p_slots[q] for update skip locked
                ) s
                limit p_slots[q]
            ))
            returning r.job_id,
                ((r.priority + 3) * 2 + r.without_permit::integer)::smallint as lane,
                r.concurrency_key is not null and r.without_permit as keyed
        )
        select v_ids || coalesce(array_agg(p.job_id order by p.lane, p.job_id), '{}'),
            v_lane_of || coalesce(array_agg(p.lane order by p.lane, p.job_id), '{}'),
            v_keyed || coalesce(array_agg(p.job_id) filter (where p.keyed), '{}'),
            count(*)
        into v_ids, v_lane_of, v_keyed, v_count
        from picked p;
        v_queue_of := v_queue_of || array_fill(q, array[v_count]);
        v_picked := v_picked || v_count;
        v_took := v_took
            || (extract(epoch from clock_timestamp() - v_started) * 1000000)::bigint;
    end loop;

    if v_keyed <> '{}' then
        v_denied := jobkit.claim_keyed(v_keyed, p_queues, p_kinds);
        -- Where the next scan of a lane may begin, although no job came of what this one picked.
        for v_scan in
            select p.q, p.lane, min(p.id) as lowest
            from unnest(v_ids, v_queue_of, v_lane_of) as p (id, q, lane)
            where v_denied <> '{}' group by p.q, p.lane
        loop
            queue_number := v_scan.q;
            lane := v_scan.lane;
            lowest := v_scan.lowest;
            return next;
        end loop;
        -- Not a join: it could compare each with each.
        select coalesce(array_agg(p.id order by p.ord), '{}'),
            coalesce(array_agg(p.q order by p.ord), '{}'),
            coalesce(array_agg(p.lane order by p.ord), '{}')
        into v_ids, v_queue_of, v_lane_of
        from (
            select u.id, max(u.q) as q, max(u.lane) as lane, max(u.ord) as ord
            from (
                select p.id, p.q, p.lane, p.ord, 0 as denied
                from unnest(v_ids, v_queue_of, v_lane_of) with ordinality as p (id, q, lane, ord)
                union all
                select d.id, null, null, null, 1 from unnest(v_denied) as d (id)
            ) u
            group by u.id having max(u.denied) = 0
        ) p;
        for q in 1 .. cardinality(p_queues) loop
            v_waiting[q] := v_picked[q] - cardinality(array_positions(v_queue_of, q));
        end loop;
    end if;

    -- The claim lists the jobs that are there; a ready row whose job is gone is gone now, too.
    return query
    with job as materialized (
        select p.q, p.lane as of_lane, j.*
        from unnest(v_ids, v_queue_of, v_lane_of) as p (id, q, lane)
        join jobkit.jobs j on j.id = p.id
    ), claimed as (
        insert into jobkit.claims (worker_id, n, job_ids, keyed, replays)
        select p_worker, p_n, array_agg(j.id),
            cardinality(v_keyed) > cardinality(v_denied) or bool_or(j.of_lane % 2 = 0),
            bool_or(j.dead_letter_id is not null)
        from job j having count(*) > 0
    )
    select j.q, 0, 0, 0::bigint, null::bigint, j.id, j.kind::text, j.of_lane, j.attempt + 1,
        j.max_attempts::smallint, j.crashes, j.snoozes, j.created_at,
        j.cancel_requested_at is not null, j.concurrency_key is not null,
        j.args, j.tags, j.metadata,
        clock_timestamp() - greatest(j.run_at, j.created_at)
    from job j
    where (select sum(pg_column_size(j.args) + coalesce(pg_column_size(j.metadata), 0))
        from job j) <= v_budget;
    if not found and v_ids <> '{}' then
        v_count := jobkit.claim_within(p_worker, p_n, v_ids, v_lane_of, v_keyed, v_budget);
        v_ids := v_ids[1 : v_count];
        for q in 1 .. cardinality(p_queues) loop
            v_picked[q] := v_waiting[q]
                + cardinality(array_positions(v_queue_of[1 : v_count], q));
        end loop;
        return query
        select p.q, 0, 0, 0::bigint, null::bigint, j.id, j.kind::text, p.lane, j.attempt + 1,
            j.max_attempts::smallint, j.crashes, j.snoozes, j.created_at,
            j.cancel_requested_at is not null, j.concurrency_key is not null,
            j.args, j.tags, j.metadata,
            clock_timestamp() - greatest(j.run_at, j.created_at)
        from unnest(v_ids, v_queue_of, v_lane_of) as p (id, q, lane)
        join jobkit.jobs j on j.id = p.id;
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

-- claim_within: cuts a claim down to a number of bytes of payload, but to no less than one job. The
-- rest, in the order of p_ids, goes back to ready, with its permits. Returns how many of p_ids
-- stay. Payloads are stored uncompressed, so their stored size is their size.
create function jobkit.claim_within(
    p_worker bigint, p_n bigint, p_ids bigint[], p_lane_of smallint[], p_keyed bigint[],
    p_budget bigint
) returns integer
language plpgsql as $$
declare
    v_kept integer;
begin
    select max(s.ord) into v_kept
    from (
        select p.ord, row_number() over w as place,
            sum(pg_column_size(j.args) + coalesce(pg_column_size(j.metadata), 0)) over w as size
        from unnest(p_ids) with ordinality as p (id, ord) join jobkit.jobs j on j.id = p.id
        window w as (order by p.ord)
    ) s
    where s.place = 1 or s.size <= p_budget;
    insert into jobkit.ready (queue, priority, without_permit, job_id, kind,
        concurrency_group, concurrency_key)
    select j.queue, j.priority, p.lane % 2 = 1 and j.id <> all (p_keyed), j.id, j.kind,
        j.concurrency_group, j.concurrency_key
    from unnest(p_ids, p_lane_of) with ordinality as p (id, lane, ord)
    join jobkit.jobs j on j.id = p.id
    where p.ord > v_kept;
    update jobkit.claims c
    set job_ids = array(select u from unnest(c.job_ids) u where u <> all (p_ids[v_kept + 1 :]))
    where c.worker_id = p_worker and c.n = p_n;
    return v_kept;
end
$$;
