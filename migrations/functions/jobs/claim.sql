-- claim: takes ready jobs for a worker, in the order of priority, then age.
--   p_n           number of this call, counted by the worker; (p_worker, p_n) is the fencing token
--   p_kinds       kinds the worker knows; others are left alone
--   p_queues, p_slots   queues served, how many jobs fit of each
--   p_marks       none, and the scan begins at the start; or 14 low-water marks for each queue, one
--                 for each lane (priority, without_permit), that it takes only ids above
--   p_first, p_last     the lanes of each queue that have marks lie between these, which begin and
--                 end a priority; 14 and 13 where none has
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
create or replace function jobkit.claim(
    p_worker bigint, p_n bigint, p_kinds text[], p_queues text[], p_slots integer[],
    p_marks bigint[] default '{}', p_first integer[] default '{}', p_last integer[] default '{}'
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
    perform jobkit.decide_lock();
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

    if p_marks <> '{}' then
        -- Until the slots are full: what is before the lanes with marks, lane by lane above those,
        -- what is behind. What others are taking (xmax) is passed over, since the attempt to lock
        -- it costs more than a row that is taken; what they gave up again is found from the start.
        v_at := array(
            select n.at
            from unnest(p_queues, p_slots, p_first, p_last)
                with ordinality as q (name, slots, first, last, number)
            cross join lateral (
                select n.at
                from generate_series(q.first - 1, q.last + 1) as l (lane)
                cross join lateral (
                    select n.at from (
                        select n.ctid as at from jobkit.ready n
                        where l.lane between q.first and q.last
                            and n.queue = q.name and n.kind = any (p_kinds)
                            and n.priority = l.lane / 2 - 3
                            and n.without_permit = (l.lane % 2 = 1)
                            and n.job_id > p_marks[(q.number - 1) * 14 + l.lane + 1]
                            and n.xmax = '0'
                        order by n.job_id limit q.slots for update skip locked
                    ) n
                    union all
                    select m.at from (
                        select m.ctid as at from jobkit.ready m
                        where l.lane not between q.first and q.last
                            and m.queue = q.name and m.kind = any (p_kinds)
                            and m.priority >= case when l.lane < q.first then -3
                                else q.last / 2 - 2 end
                            and m.priority <= case when l.lane > q.last then 3
                                else q.first / 2 - 4 end
                            and m.xmax = '0'
                        order by m.priority, m.without_permit, m.job_id
                        limit q.slots for update of m skip locked
                    ) m
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
            select p.queue, p.lane, min(p.id) as id, array_agg(p.id) filter (where p.needy) as needy
            from (
                select j.id, j.queue,
                    j.concurrency_key is not null and h.held is null as needy,
                    (j.priority + 3) * 2 + (h.held is null)::integer as lane
                from jobkit.jobs j
                left join lateral (
                    select true as held from jobkit.permits h where h.job_id = j.id offset 0
                ) h on true
                where j.id = any (v_ids)
            ) p
            group by p.queue, p.lane
        loop
            v_row := null;
            v_row.queue := v_some.queue;
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
                select j.queue, count(*) as n
                from jobkit.jobs j where j.id = any (v_denied) group by 1
            loop
                v_row.queue := v_some.queue;
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
        select j.queue, null::integer, null::integer,
            null::bigint, null::bigint, j.id, j.kind, j.priority * 2 + 7,
            j.attempt + 1, j.max_attempts, j.crashes, j.snoozes, j.created_at,
            j.cancel_requested_at is not null, j.concurrency_key is not null, j.args, j.tags,
            -- What is infinite has no distance: the subtraction would fail, and the claim with it.
            j.metadata, clock_timestamp()
                - least(greatest(j.run_at, j.created_at, 'epoch'), clock_timestamp())
        from jobkit.jobs j where j.id = any (v_ids);
    end if;
end
$$;
