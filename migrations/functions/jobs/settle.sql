-- settle: records what became of claimed jobs, and ends or requeues them.
--   p_worker, p_n[i]    the claim under which job p_job[i] ran; a call names a job once
--   p_outcome[i]        finish | retry | wait | snooze | bury | discard | cancel | expire | release
--   p_error[i]          for all but finish and snooze (release: why this worker cannot open it);
--                       p_error_type[i]: its Rust type, if it has one
--   p_reason[i]         for bury, for retry if no attempt is left, for finish if no result is kept
--   p_delay[i]          for retry, wait, snooze, release; null: at once
--   p_keep[i]           how long an ended job is kept; null: not at all
--   p_took[i]           how long the attempt took
--   p_result[i]         for finish: what it returned, as JSON
--   p_next              a new claim of this worker for jobs that get a permit here, as far as they
--                       fit into p_room[q] slots of p_queues[q]; null: it claims none
-- An array may be shorter than p_job: what is missing is null.
-- Returns, in `ending`, what became of a job instead of its outcome: `lost` (the claim does not
-- hold it any more; nothing was written), `bury` (no attempt or time is left), `retry` (it waited
-- for too long), `cancel` (it is marked), `supersede` (another runs for it). And `claim` with `job`
-- for each that is in p_next now, `unblock` for the first of each queue and priority made ready.
-- Claims are locked FOR UPDATE: a weaker lock would let a late finish pass beside a retry. No lock
-- is waited for longer than a second. One plan serves all calls: docs/decisions/0005-sessions.md.
create or replace function jobkit.settle(
    p_worker bigint, p_n bigint[], p_job bigint[], p_outcome text[], p_error text[],
    p_reason text[], p_delay interval[], p_keep interval[], p_took interval[],
    p_error_type text[] default '{}', p_next bigint default null, p_queues text[] default '{}',
    p_room integer[] default '{}', p_result text[] default '{}'
) returns table (job_id bigint, ending text, queue text, priority smallint, job jobkit.jobs)
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
declare
    v_held bigint[];                             -- all that is settled now
    v_finish bigint[];                           -- … with success
    v_other bigint[] := '{}';                    -- … otherwise
    v_gone bigint[];                             -- … and was there
    v_keyed boolean;                             -- whether permits may be among what they held
    v_replaying boolean;                         -- … and replays of dead letters
    v_freed record;                              -- … and those that were
    v_claimed bigint[];                          -- what got one and is this worker's now
begin
    if current_setting('jobkit.plans', true) is distinct from 'force_generic_plan' then
        perform jobkit.plan_once();
    end if;
    perform jobkit.decide_lock();
    if p_n = array_fill(p_n[1], array[cardinality(p_job)]) then
        -- The common case: all that a claim lists. The DELETE waits as FOR UPDATE does.
        delete from jobkit.claims c
        where c.worker_id = p_worker and c.n = p_n[1] and c.job_ids = p_job
        returning c.job_ids, c.keyed, c.replays into v_held, v_keyed, v_replaying;
    end if;
    if v_held is null then
        select * into v_held, v_keyed, v_replaying
        from jobkit.settle_partial(p_worker, p_n, p_job);
    end if;
    v_finish := v_held;
    if v_replaying or 'finish' <> any (p_outcome) then
        select * into v_finish, v_other
        from jobkit.settle_apart(v_held, p_job, p_outcome, v_replaying);
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
        v_gone := jobkit.finish_all(p_worker, v_finish, p_job, p_keep, p_took, p_reason, p_result);
    end if;
    if v_other <> '{}' then
        for job_id, ending in
            select * from jobkit.settle_others(p_worker, v_other, p_job, p_outcome, p_error,
                p_error_type, p_reason, p_delay, p_keep, p_took, p_result)
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
    if cardinality(v_gone) is distinct from cardinality(p_job) then
        return query select o.job, 'lost', null::text, null::smallint, null::jobkit.jobs
        from unnest(p_job) as o (job) where o.job = any (v_gone) is not true;
    end if;
end
$$;
