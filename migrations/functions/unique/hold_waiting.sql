-- hold_waiting: keeps a waiting job where it is until the caller's transaction ends: claims and the
-- promoter skip it. Any number of callers may hold it. Returns whether it holds the job.
--   p_wait  whether to wait for a session that has the job locked
-- It does not check whether the job was cancelled meanwhile: that would mean waiting for a key
-- while holding a job.
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
        -- Workers that skipped it learn when it may be claimed.
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
