-- claim: takes ready jobs for a worker, by priority, then age, and records them as its claim.
--   p_worker, p_n      the fencing token: the worker, and the number it gives this call
--   p_kinds            the kinds that the worker knows, named as by `versioned`
--   p_queues, p_slots  the queues it serves, and how many jobs it may take from each
--   p_marks            low-water marks, 14 for each queue, one for each lane; empty: none
--   p_first, p_last    the first and last lane of each queue that has a mark
--   p_ahead            how many of p_slots are not free yet; empty: all are free
--   p_pools, p_rooms   the pool of each queue, and how many jobs fit into each pool; empty: no
--                      pools
-- Returns the jobs, in any order, with at most 8 MiB of payload, but always at least one job. Rows
-- without a job have a `note`. Raises JK001 if the worker has no lease.
-- Locks the row of its worker. Why, and what the parameters and notes mean in detail:
-- docs/decisions/0002-claims.md. Why one plan serves all calls: docs/decisions/0005-sessions.md.
create or replace function jobkit.claim(
    p_worker bigint, p_n bigint, p_kinds text[], p_queues text[], p_slots integer[],
    p_marks bigint[] default '{}', p_first integer[] default '{}', p_last integer[] default '{}',
    p_ahead integer[] default '{}', p_pools integer[] default '{}', p_rooms integer[] default '{}'
) returns setof jobkit.claimed
language plpgsql set search_path = pg_catalog, pg_temp set enable_sort = off as $$
declare
    v_limited boolean;
    v_kinds text[];                              -- if so, p_kinds as passed in
    v_held json;                                 -- why some jobs are held back
    v_started timestamptz;
    v_at tid[];
    v_ids bigint[];
    v_noted bigint[];                            -- already recorded in a claim
    v_plain boolean;                             -- none of them holds or needs a permit
    v_notes json[];                              -- about those that do, or wait
    v_row jobkit.claimed;
begin
    if current_setting('jobkit.plans', true) is distinct from 'force_generic_plan' then
        perform jobkit.plan_once();
    end if;
    perform jobkit.decide_lock();
    select clock_timestamp(), exists (select from jobkit.limits l where l.holds)
    into v_started, v_limited from jobkit.workers w
    where w.id = p_worker and w.lease_until > clock_timestamp() for key share;
    if not found then
        raise exception 'jobkit: worker % has no lease', p_worker using errcode = 'JK001';
    end if;
    if v_limited then
        v_kinds := p_kinds;
        select * into p_kinds, p_slots, p_ahead, v_at, v_started, v_held from jobkit.claim_limited(
            p_kinds, p_queues, p_slots, p_ahead, p_marks, p_first, p_last, p_pools, p_rooms);
    elsif p_marks <> '{}' or p_rooms <> '{}' then
        v_at := jobkit.claim_shared(p_kinds, p_queues, p_slots, p_marks, p_first, p_last, p_pools,
            p_rooms);
    end if;
    with picked as (
        delete from jobkit.ready r
        where r.ctid = any (coalesce(v_at, array(
            select f.at from unnest(p_queues, p_slots) as q (name, slots)
            cross join lateral (
                select f.ctid as at from jobkit.ready f
                where f.queue = q.name and f.kind = any (p_kinds)
                order by f.priority, f.without_permit, f.job_id
                limit q.slots for update of f skip locked) f)))
        returning r.job_id, r.without_permit and r.concurrency_key is null as plain
    )
    select array_agg(p.job_id), bool_and(p.plain), json_build_object('scan_us',
        (extract(epoch from clock_timestamp() - v_started) * 1000000)::bigint)
    into v_ids, v_plain, v_row.note from picked p;
    return next v_row;
    if not v_plain or p_ahead <> '{}' or v_limited then
        select * into v_ids, v_noted, v_notes from jobkit.claim_apart(
            p_worker, p_n, v_ids, v_plain, p_queues, p_slots, p_ahead, p_kinds, v_kinds, v_held);
    end if;
    if v_ids <> '{}' then
        insert into jobkit.claims (worker_id, n, job_ids, keyed, replays)
        select p_worker, p_n, v_ids, not v_plain, bool_or(j.dead_letter_id is not null)
        from jobkit.jobs j where j.id = any (v_ids)
        having count(*) filter (where j.unique_while is distinct from 'coalesce')
            = cardinality(v_ids) and (cardinality(v_ids) = 1
                or sum(jobkit.payload_size(j)) <= 8 * 1024 * 1024);
        if not found then
            select w.ids, v_notes || w.notes into v_ids, v_notes from jobkit.claim_within(
                p_worker, p_n, not v_plain, v_ids, p_queues, p_kinds, 8 * 1024 * 1024) w;
        end if;
    end if;
    foreach v_row.note in array coalesce(v_notes, '{}') loop
        return next v_row;
    end loop;
    if v_ids <> '{}' or v_noted <> '{}' then
        return query select (jobkit.for_worker(j)).*
        from jobkit.jobs j where j.id = any (v_ids || v_noted);
    end if;
end
$$;
