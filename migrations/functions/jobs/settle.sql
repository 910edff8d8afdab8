-- settle: records what became of claimed jobs, and ends or requeues them. A call names a job once.
--   (p_worker, p_n[i])  the claim under which job p_job[i] ran
--   p_outcome[i]  finish | retry | snooze | bury | discard | cancel | release
--   p_error[i]    for retry, bury, discard, cancel; p_error_type[i] its Rust type, if it has one;
--                 p_reason[i] for bury, and for retry in case no attempt is left
--   p_delay[i]    for retry, snooze, release (null = at once)
--   p_keep[i]     how long an ended job is kept; null = not at all
--   p_next        number of a claim under which this worker takes at once what it unblocks, as far
--                 as it has room (p_room[q] slots of p_queues[q]); null = nothing
-- An array may be shorter than p_job: what is missing is null.
-- Returns what became of those that did not go as asked: `lost` (the claim does not hold the job
-- any more: nothing was written), `bury` (a retry without attempts left), `cancel` (marked);
-- `claim` for each job, itself as `job`, that belongs to claim p_next now; and `unblock` for the
-- first job of each queue and priority that got a permit and is ready now.
-- Waits for no lock longer than a second: others have outcomes, too.
-- The claim rows are locked FOR UPDATE: a weaker lock would let a late finish pass beside a retry.
create or replace function jobkit.settle(
    p_worker bigint, p_n bigint[], p_job bigint[], p_outcome text[], p_error text[],
    p_reason text[], p_delay interval[], p_keep interval[], p_took interval[],
    p_error_type text[] default '{}', p_next bigint default null, p_queues text[] default '{}',
    p_room integer[] default '{}'
) returns table (job_id bigint, ending text, queue text, priority smallint, job jobkit.jobs)
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_claims bigint[];                           -- numbers of the claims that are settled
    v_n bigint;
    v_listed bigint[];                           -- what a claim lists
    v_settled bigint[];                          -- … of that, what is settled now
    v_held bigint[] := '{}';                     -- all that is settled now
    v_finish bigint[];                           -- … with success
    v_other bigint[] := '{}';                    -- … otherwise
    v_gone bigint[];                             -- … and was there
    v_queues text[] := '{}';                     -- queues that got a ready job back
    v_claim record;
    v_keyed boolean := false;                    -- whether permits may be among what they held
    v_replaying boolean := false;                -- … and replays of dead letters
    v_freed record;                              -- … and those that were
    v_unblocked bigint[];                        -- what got them
    v_claimed bigint[];                          -- … and is this worker's now
    v_row record;
    v_job jobkit.jobs;
begin
    perform jobkit.decide_lock();
    -- Claim by claim, by its key: a scan of them all would walk the dead entries that pile up under
    -- a pinned horizon. What FOR UPDATE returns is the row as it is now that we hold it.
    if p_n = array_fill(p_n[1], array[cardinality(p_job)]) then
        v_claims := p_n[1 : 1];
    else
        v_claims := array(select distinct u.n from unnest(p_n) as u (n) order by 1);
    end if;
    if cardinality(v_claims) = 1 then
        -- The common case: all that a claim lists. The DELETE waits as FOR UPDATE does.
        delete from jobkit.claims c
        where c.worker_id = p_worker and c.n = v_claims[1] and c.job_ids = p_job
        returning c.keyed, c.replays into v_claim;
        if found then
            v_claims := '{}';
            v_held := p_job;
            v_keyed := v_claim.keyed;
            v_replaying := v_claim.replays;
        end if;
    end if;
    foreach v_n in array v_claims loop
        select c.job_ids, c.keyed, c.replays into v_claim from jobkit.claims c
        where c.worker_id = p_worker and c.n = v_n for update;
        continue when not found;
        v_listed := v_claim.job_ids;
        v_keyed := v_keyed or v_claim.keyed;
        v_replaying := v_replaying or v_claim.replays;
        v_settled := array(
            select o.job from unnest(p_n, p_job) as o (n, job) where o.n = v_n
            intersect select unnest(v_listed)
        );
        if cardinality(v_settled) = cardinality(v_listed) then
            delete from jobkit.claims c where c.worker_id = p_worker and c.n = v_n;
        elsif v_settled <> '{}' then
            update jobkit.claims c
            set job_ids = array(select unnest(v_listed) except select unnest(v_settled))
            where c.worker_id = p_worker and c.n = v_n;
        end if;
        v_held := v_held || v_settled;
    end loop;
    v_finish := v_held;
    if 'finish' <> any (p_outcome) then
        v_finish := array(
            select o.job from unnest(p_job, p_outcome) as o (job, outcome)
            where o.outcome = 'finish'
            intersect select unnest(v_held)
        );
        v_other := array(select unnest(v_held) except select unnest(v_finish));
    end if;
    if v_replaying then
        -- One by one, in the order of dead letters.
        v_other := v_other || array(
            select j.id from jobkit.jobs j
            where j.id = any (v_finish) and j.dead_letter_id is not null
        );
        v_finish := array(select unnest(v_finish) except select unnest(v_other));
    end if;

    if v_keyed and p_next is not null and v_finish = p_job and cardinality(p_job) = 1 then
        v_claimed := jobkit.pass_permit(p_worker, p_next, p_job[1], p_queues, p_room);
        v_keyed := v_claimed is null;
    end if;
    if v_keyed then
        select * into v_freed from jobkit.signal(v_held, p_last => v_other = '{}');
        v_keyed := v_freed.groups <> '{}';
    end if;
    if v_other <> '{}' then
        perform from jobkit.jobs j where j.id = any (v_finish || v_other) order by j.id for update;
    end if;
    if v_finish <> '{}' then
        v_gone := jobkit.finish_all(p_worker, v_finish, p_job, p_keep, p_took);
    end if;

    if v_other <> '{}' then
        for v_row in
            select o.*
            from unnest(p_job, p_outcome, p_error, p_error_type, p_reason, p_delay, p_keep, p_took)
                as o (job, outcome, error, error_type, reason, delay, keep, took)
            cross join lateral (select * from jobkit.jobs j where j.id = o.job offset 0) j
            where o.job = any (v_other) order by j.kind, j.dead_letter_key, j.dead_letter_id, o.job
        loop
            select * into v_job from jobkit.jobs j where j.id = v_row.job;
            if not found then
                continue;
            end if;
            v_gone := v_gone || v_job.id;
            ending := jobkit.settle_one(v_job, p_worker, v_row.outcome, v_row.error,
                v_row.error_type, v_row.reason, v_row.delay, v_row.keep, v_row.took);
            if ending = 'release' and v_row.delay is null and v_job.concurrency_key is null then
                v_queues := v_queues || v_job.queue;
            end if;
            if ending <> v_row.outcome then
                job_id := v_job.id;
                return next;
            end if;
        end loop;
    end if;
    if v_keyed then
        v_unblocked := array(
            select jobkit.grant_permits(v_freed.groups, v_freed.keys, v_freed.freed)
        );
        if p_next is not null and v_unblocked <> '{}' then
            v_claimed := jobkit.hand_over(p_worker, p_next, v_unblocked, p_queues, p_room);
        end if;
    end if;
    if v_claimed <> '{}' then
        return query
        select j.id, 'claim', j.queue::text, j.priority::smallint, j
        from jobkit.jobs j where j.id = any (v_claimed);
    end if;
    if cardinality(v_unblocked) > coalesce(cardinality(v_claimed), 0) then
        for v_row in
            select * from jobkit.unblock(
                array(select unnest(v_unblocked) except select unnest(v_claimed)))
        loop
            v_queues := v_queues || v_row.queue;
            return query
            select v_row.job_id, 'unblock', v_row.queue, v_row.priority, null::jobkit.jobs;
        end loop;
    end if;

    if cardinality(v_gone) is distinct from cardinality(p_job) then
        return query
        select o.job, 'lost', null::text, null::smallint, null::jobkit.jobs
        from unnest(p_job) as o (job) where o.job = any (v_gone) is not true;
    end if;
    if v_queues <> '{}' then
        perform jobkit.wake(v_queues, p_worker);
    end if;
end
$$;
