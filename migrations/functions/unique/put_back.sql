-- put_back: makes a job that `take_waiting` took wait again, for another time. If it was due and is
-- due again, it remembers since when, so that a stream of changes does not hide that it is late.
create or replace function jobkit.put_back(p_job bigint, p_run_at timestamptz) returns void
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_job record;
begin
    perform jobkit.require_time(p_run_at);
    update jobkit.jobs j set run_at = greatest(p_run_at, v_now),
        due_since = case when j.run_at <= v_now and p_run_at <= v_now
            then least(j.due_since, j.run_at) end
    where j.id = p_job returning j.queue, j.attempt, j.run_at into v_job;
    if v_job.run_at = v_now then
        perform jobkit.make_ready(array[p_job]);
        perform jobkit.wake(array[v_job.queue]);
    else
        insert into jobkit.scheduled (run_at, job_id, retrying)
        values (v_job.run_at, p_job, v_job.attempt > 0);
        perform jobkit.wake_due(v_job.run_at);
    end if;
end
$$;
