-- reschedule: gives waiting jobs another time (null: now). A permit that one holds passes to the
-- next job of its key.
--   p_actor, p_detail, p_action  for the audit log: who, further details, and the action's name
-- Returns the jobs it changed. Jobs that run, that follow another job, that wait for a batch, or
-- that are to be cancelled stay as they are.
create or replace function jobkit.reschedule(
    p_jobs bigint[], p_run_at timestamptz, p_actor text default null, p_detail jsonb default null,
    p_action text default 'reschedule'
) returns setof bigint
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_run_at constant timestamptz := greatest(p_run_at, v_now);
    v_taken bigint[];
    v_pulled record;
begin
    perform jobkit.require_time(p_run_at);
    perform jobkit.decide_lock();
    select * into v_pulled from jobkit.withdraw(array(
        select j.id from jobkit.jobs j
        where j.id = any (p_jobs) and j.cancel_requested_at is null
            and (j.run_at <> jobkit.parked() or j.unique_key is null and j.callback_of is null)
    ));
    v_taken := v_pulled.jobs;
    perform from jobkit.jobs j where j.id = any (v_taken) order by j.id for no key update;
    update jobkit.jobs j set run_at = v_run_at, due_since = null where j.id = any (v_taken);
    if v_run_at = v_now then
        perform jobkit.make_ready(v_taken);
    else
        insert into jobkit.scheduled (run_at, job_id, retrying)
        select v_run_at, j.id, j.attempt > 0 from jobkit.jobs j where j.id = any (v_taken);
    end if;
    perform jobkit.grant_and_wake(v_pulled.groups, v_pulled.keys, v_pulled.freed);
    if v_run_at = v_now and v_taken <> '{}' then
        perform jobkit.wake(array(
            select distinct j.queue from jobkit.jobs j where j.id = any (v_taken)
        ));
    end if;
    if v_run_at > v_now and v_taken <> '{}' then
        perform jobkit.wake_due(v_run_at);
    end if;
    perform jobkit.note_jobs(p_actor, p_action, v_taken,
        coalesce(p_detail, '{}') || jsonb_build_object('run_at', p_run_at));
    return query select unnest(v_taken);
end
$$;
