-- crash: charges an attempt to a job whose worker died before it could report an outcome. The wait
-- from the second crash on is fixed here: a reaper may not know the kind.
create or replace function jobkit.crash(p_job jobkit.jobs, p_worker bigint, p_error text)
returns void
language plpgsql as $$
declare
    v_attempt constant integer := p_job.attempt + 1;
    v_run_at timestamptz := clock_timestamp();
    v_outcome jobkit.outcome;
    v_by bigint;                                 -- the job that has its unique key now
begin
    if p_job.cancel_requested_at is not null then
        v_outcome.outcome := 'cancel';
        v_outcome.reason := 'cancelled';
        perform jobkit.finish(p_job, p_worker, v_outcome);
        return;
    end if;
    perform jobkit.log_attempt(p_job.id, v_attempt, 'crash', p_error, null, p_worker, null);
    if v_attempt >= p_job.max_attempts then
        perform jobkit.bury(p_job, v_attempt, 'crashed', p_error, p_worker);
        return;
    end if;
    v_by := p_job.coalesced_by;
    if p_job.unique_while = 'queued' then
        v_by := jobkit.retake_key(p_job.unique_scope, p_job.unique_key, p_job.id);
    end if;
    if v_by is not null then
        perform jobkit.finish(p_job, p_worker, v_outcome, p_by => v_by);
        return;
    end if;
    if p_job.crashes > 0 then
        v_run_at := v_run_at + interval '1 second'
            * least(86400, (15 + power(v_attempt, 4)) * (0.9 + 0.2 * random()));
    end if;
    update jobkit.jobs j
    set attempt = v_attempt, crashes = j.crashes + 1, run_at = v_run_at, due_since = null,
        waits_since = null
    where j.id = p_job.id;
    if p_job.crashes > 0 then
        insert into jobkit.scheduled (run_at, job_id, retrying) values (v_run_at, p_job.id, true);
    else
        perform jobkit.run_again(p_job);
    end if;
end
$$;
