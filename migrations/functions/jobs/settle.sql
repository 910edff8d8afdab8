-- settle: records the outcomes of claimed jobs, and ends or requeues the jobs.
--   p_next  a new claim of this worker for jobs that get a permit here, as far as p_room[q] slots
--           of p_queues[q] allow; null: it claims none
-- Returns, in `ending`, each result that differs from the outcome: `lost` (the claim no longer
-- holds the job; nothing was written), `bury` (no attempt or time is left), `retry` (it waited too
-- long), `cancel` (it is marked) or `supersede` (another job runs instead). Also returns `claim`
-- with `job` for each job now in p_next, and `unblock` for the first job made ready in each queue
-- and priority.
-- Locks claims FOR UPDATE: a weaker lock would admit a late finish and a retry at once. Waits at
-- most one second for any lock. Why one plan serves all calls: docs/decisions/0005-sessions.md.
create or replace function jobkit.settle(
    p_worker bigint, p jobkit.outcomes, p_next bigint default null, p_queues text[] default '{}',
    p_room integer[] default '{}'
) returns table (job_id bigint, ending text, queue text, priority smallint, job jobkit.jobs)
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
    v_held bigint[];                             -- all jobs settled now
    v_finish bigint[];                           -- … that succeeded
    v_other bigint[] := '{}';                    -- … with other outcomes
    v_gone bigint[];                             -- … that still existed
    v_keyed boolean;                             -- whether they may hold permits
    v_replaying boolean;                         -- whether they may replay dead letters
    v_freed record;                              -- the permits taken back
    v_claimed bigint[];                          -- jobs that got a permit and are claimed
begin
    if current_setting('jobkit.plans', true) is distinct from 'force_generic_plan' then
        perform jobkit.plan_once();
    end if;
    perform jobkit.decide_lock();
    if p.n = array_fill(p.n[1], array[cardinality(p.job)]) then
        -- The common case: everything that a claim lists. The DELETE waits as FOR UPDATE does.
        delete from jobkit.claims c
        where c.worker_id = p_worker and c.n = p.n[1] and c.job_ids = p.job
        returning c.job_ids, c.keyed, c.replays into v_held, v_keyed, v_replaying;
    end if;
    if v_held is null then
        select * into v_held, v_keyed, v_replaying
        from jobkit.settle_partial(p_worker, p);
    end if;
    v_finish := v_held;
    if v_replaying or 'finish' <> any (p.outcome) then
        select * into v_finish, v_other
        from jobkit.settle_apart(v_held, p, v_replaying);
    end if;

    if v_keyed and p_next is not null and v_finish = p.job and cardinality(p.job) = 1 then
        v_claimed := jobkit.pass_permit(p_worker, p_next, p.job[1], p_queues, p_room);
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
        v_gone := jobkit.end_jobs(p_worker, v_finish, p);
    end if;
    if v_other <> '{}' then
        for job_id, ending in
            select * from jobkit.settle_others(p_worker, v_other, p)
        loop
            v_gone := v_gone || job_id;
            if ending is not null then
                return next;
            end if;
        end loop;
    end if;

    if v_claimed <> '{}' then
        return query select j.id, 'claim', j.queue::text, j.priority::smallint, j
        from jobkit.jobs j where j.id = any (v_claimed);
    elsif v_keyed then
        return query select * from jobkit.settle_grant(
            p_worker, p_next, v_freed.groups, v_freed.keys, v_freed.freed, p_queues, p_room);
    end if;
    if cardinality(v_gone) is distinct from cardinality(p.job) then
        return query select o.job, 'lost', null::text, null::smallint, null::jobkit.jobs
        from unnest(p.job) as o (job) where o.job = any (v_gone) is not true;
    end if;
end
$$;
