-- hold_waiting: a job that waits stays there until the caller's transaction ends: claims and the
-- promoter pass over it. Any number of callers may hold it. Where its place is in other hands it
-- waits for them, or (not p_wait) does without. Whether it holds it. (To look again, where
-- it was cancelled meanwhile, would be to wait for a key with a job in hand.)
create or replace function jobkit.hold_waiting(p_job bigint, p_wait boolean) returns boolean
language plpgsql as $$
declare
    v_job record;
begin
    select j.queue, j.priority, j.run_at into v_job from jobkit.jobs j where j.id = p_job;
    if p_wait then
        perform from jobkit.ready r where r.queue = v_job.queue and r.priority = v_job.priority
            and r.without_permit and r.job_id = p_job for key share;
    else
        perform from jobkit.ready r where r.queue = v_job.queue and r.priority = v_job.priority
            and r.without_permit and r.job_id = p_job for key share skip locked;
    end if;
    if found then
        -- Who passed over it is told when it may be had.
        perform jobkit.wake(array[v_job.queue]);
    else
        if p_wait then
            perform from jobkit.scheduled s where s.run_at = v_job.run_at and s.job_id = p_job
            for key share;
        else
            perform from jobkit.scheduled s where s.run_at = v_job.run_at and s.job_id = p_job
            for key share skip locked;
        end if;
        if not found then
            return false;
        end if;
        if v_job.run_at <= clock_timestamp() then
            perform jobkit.wake_due(v_job.run_at);
        end if;
    end if;
    return true;
end
$$;
