-- claim: takes ready jobs for a worker, in the order of priority, then age.
--   p_n           number of this call, counted by the worker; (p_worker, p_n) is the fencing token
--   p_kinds       what the worker knows: kinds, from the second version on with that (`versioned`);
--                 others are left alone
--   p_queues, p_slots   queues served, how many jobs fit of each
--   p_marks       none, and the scan begins at the start; or 14 low-water marks for each queue, one
--                 for each lane (priority, without_permit), that it takes only ids above
--   p_first, p_last     the lanes of each queue that have marks lie between these, which begin and
--                 end a priority; 14 and 13 where none has
--   p_ahead       how many of p_slots are not free yet: what is beyond those that are waits in the
--                 worker for one (`claim_ahead`), under the claim p_n + 1; none, and all are free
--   p_pools, p_rooms    which queues share slots (null: does not), and how many jobs fit of each
--                 pool: taken from its queues in their order (`claim_shared`); none, and none do
-- A job with a concurrency key that holds no permit yet asks for one, and is blocked without. Where
-- something is paused or has a limit or a rate, `claim_braked` decides what may be taken; no claim
-- that looked before a pause commits after it.
-- A claim that committed after its worker was reaped would be orphaned: the reaper's DELETE waits
-- for the lock of its row, or we wait for the DELETE and find nothing.
-- Returns the jobs in any order, and rows without a job_id: how long the scan of all queues took;
-- for each queue with jobs that got no permit, how many (`waiting`); and how many ready rows had no
-- job (`gone`), if some had none or some jobs went back. The lane of a job is that of its priority
-- without a permit; so when some held or needed one, or coalesce (`claim_within`), there is a row
-- for each queue and lane with the lowest id picked (`lowest`); and where some may wait a row with
-- their ids (`ahead`), and `gone` when some were picked that may not. At most 8 MiB of payload, but
-- always one job: the rest goes back. The jobs are read by their ids alone, not by a join: this is
-- most of what a claim costs. Each statement and each expression in here is a part of how long a
-- lone job waits: what only permits or large payloads need is read when there are some. Mostly one
-- statement looks at all jobs and notes them. A time that is infinite has no distance to be
-- subtracted. Where some that coalesce went back, `gone` says in how long to look again (`waited`).
-- What a limit or a rate holds back has a row: kinds there was little room for (`tags`), and in how
-- long the next job fits (`waited`).
-- The scan must follow the primary key whatever the statistics say, and one plan serves every call
-- (`plan_once`).
create or replace function jobkit.claim(
    p_worker bigint, p_n bigint, p_kinds text[], p_queues text[], p_slots integer[],
    p_marks bigint[] default '{}', p_first integer[] default '{}', p_last integer[] default '{}',
    p_ahead integer[] default '{}', p_pools integer[] default '{}', p_rooms integer[] default '{}'
) returns setof jobkit.claimed
language plpgsql set search_path = pg_catalog, pg_temp set enable_sort = off as $$
declare
    v_braked boolean;
    v_kinds text[];                              -- where it is, those that were asked for
    v_held jobkit.claimed[];                     -- what holds it back
    v_started timestamptz;
    v_at tid[];
    v_ids bigint[];
    v_noted bigint[];                            -- those that a claim names already
    v_plain boolean;                             -- none of them held or needs a permit
    v_answers jobkit.claimed[];                  -- about those that did, or wait
    v_row jobkit.claimed;
begin
    if current_setting('jobkit.plans', true) is distinct from 'force_generic_plan' then
        perform jobkit.plan_once();
    end if;
    perform jobkit.decide_lock();
    select clock_timestamp(), exists (select from jobkit.brakes)
        or exists (select from jobkit.queues q where q.paused_at is not null)
    into v_started, v_braked from jobkit.workers w
    where w.id = p_worker and w.lease_until > clock_timestamp() for key share;
    if not found then
        raise exception 'jobkit: worker % has no lease', p_worker using errcode = 'JK001';
    end if;
    if v_braked then
        v_kinds := p_kinds;
        select * into p_kinds, p_slots, p_ahead, v_at, v_started, v_held from jobkit.claim_braked(
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
    select array_agg(p.job_id), bool_and(p.plain),
        extract(epoch from clock_timestamp() - v_started) * 1000000
    into v_ids, v_plain, v_row.scan_us from picked p;
    return next v_row;
    if not v_plain or p_ahead <> '{}' or v_braked then
        select * into v_ids, v_noted, v_answers from jobkit.claim_apart(
            p_worker, p_n, v_ids, v_plain, p_queues, p_slots, p_ahead, p_kinds, v_kinds, v_held);
        return query select * from unnest(v_answers);
    end if;
    if v_ids <> '{}' then
        insert into jobkit.claims (worker_id, n, job_ids, keyed, replays)
        select p_worker, p_n, v_ids, not v_plain, bool_or(j.dead_letter_id is not null)
        from jobkit.jobs j where j.id = any (v_ids)
        having count(*) filter (where j.unique_while is distinct from 'coalesce')
            = cardinality(v_ids) and (cardinality(v_ids) = 1
                or sum(jobkit.payload_size(j)) <= 8 * 1024 * 1024);
        if not found then
            select * into v_ids, v_answers from jobkit.claim_within(p_worker, p_n, not v_plain,
                v_ids, p_queues, p_kinds, 8 * 1024 * 1024);
            return query select * from unnest(v_answers);
        end if;
    end if;
    if v_ids <> '{}' or v_noted <> '{}' then
        return query select j.queue, null::integer, null::integer, null::bigint, null::bigint,
            j.id, jobkit.versioned(j.kind, j.version), j.priority * 2 + 7, j.attempt + 1,
            j.max_attempts, j.crashes, j.snoozes, j.created_at, j.cancel_requested_at is not null,
            j.concurrency_key is not null, j.args, j.tags, j.metadata, clock_timestamp() - least(
                greatest(j.run_at, j.created_at, 'epoch'), clock_timestamp()), null::bigint[]
        from jobkit.jobs j where j.id = any (v_ids || v_noted);
    end if;
end
$$;
