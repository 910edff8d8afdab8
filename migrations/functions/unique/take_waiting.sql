-- take_waiting: removes a job without a permit from where it waits. Returns whether it did. A job
-- that was cancelled meanwhile goes back: it is only to be ended.
--   p_wait  whether to wait for a session that has the job locked
-- For producers: workers use `withdraw`, which waits for nobody.
create or replace function jobkit.take_waiting(p_job bigint, p_wait boolean) returns boolean
language plpgsql as $$
declare
    v_job record;
begin
    select j.queue, j.priority, j.run_at into v_job from jobkit.jobs j where j.id = p_job;
    if not p_wait then
        perform from jobkit.ready r where r.queue = v_job.queue and r.priority = v_job.priority
            and r.without_permit and r.job_id = p_job for update skip locked;
        if not found then
            perform from jobkit.scheduled s where s.run_at = v_job.run_at and s.job_id = p_job
            for update skip locked;
        end if;
        if not found then
            return false;
        end if;
    end if;
    delete from jobkit.ready r where r.queue = v_job.queue and r.priority = v_job.priority
        and r.without_permit and r.job_id = p_job;
    if not found then
        delete from jobkit.scheduled s where s.run_at = v_job.run_at and s.job_id = p_job;
    end if;
    if not found then
        return false;
    end if;
    perform from jobkit.jobs j
    where j.id = p_job and j.cancel_requested_at is null for no key update;
    if not found then
        perform jobkit.make_ready(array[p_job]);
        perform jobkit.wake(array[v_job.queue]);
        return false;
    end if;
    return true;
end
$$;
