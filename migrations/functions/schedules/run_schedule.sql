-- run_schedule: enqueues a job of this schedule now, even if it is paused or its other jobs are
-- running. Its times do not change. Returns the job; null: no such schedule.
create or replace function jobkit.run_schedule(p_name text, p_actor text) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_job bigint;
begin
    perform jobkit.require_read_committed();
    perform from jobkit.schedules s where s.name = p_name and s.removed_at is null for update;
    if not found then
        return null;
    end if;
    v_job := (jobkit.enqueue_scheduled(array[p_name], array[v_now]))[1];
    insert into jobkit.schedule_runs (schedule, instant, job_id, by_hand, actor)
    values (p_name, v_now, v_job, true, p_actor);
    perform jobkit.note(p_actor, 'run', 'schedule', null, jsonb_build_object('job', v_job), p_name);
    return v_job;
end
$$;
