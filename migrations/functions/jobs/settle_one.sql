-- settle_one: settles one job, with any outcome; the caller holds its row. Returns what the outcome
-- became. A `wait` is a snooze while its budget lasts (`retry_for`, or a day, from the first of
-- several waits in a row), then a retry. A job released with an error cannot be opened by this
-- worker: it waits longer each time that happens.
create or replace function jobkit.settle_one(
    p_job jobkit.jobs, p_worker bigint, p jobkit.outcome
) returns text
language plpgsql as $$
declare
    v_attempt constant integer := p_job.attempt + 1;
    v_ending text := p.outcome;
    v_run_at timestamptz := clock_timestamp() + coalesce(p.delay, '0');
    v_reason text := coalesce(p.reason, 'exhausted');
    v_by bigint;                                 -- the job that has its unique key now
begin
    if v_ending = 'wait' then
        p_job.waits_since := least(p_job.waits_since, clock_timestamp());
        v_ending := case when v_run_at > p_job.waits_since + coalesce(
            (jobkit.terms(p_job.kind, p_job.terms)).retry_for, '1 day')
            then 'retry' else 'snooze' end;
    elsif v_ending <> 'release' then
        p_job.waits_since := null;
    end if;
    if v_ending in ('retry', 'snooze', 'release') and p_job.cancel_requested_at is not null then
        v_ending := 'cancel';
    elsif v_ending = 'release' and p_job.attempt >= p_job.max_attempts then
        -- A crash between two binaries, a limit lowered by hand or rows from a backup left it
        -- without attempts: nobody runs it any more.
        perform jobkit.bury(p_job, p_job.attempt, 'exhausted', coalesce(
            (select a.error from jobkit.attempts a where a.job_id = p_job.id
                order by a.attempt desc limit 1),
            'it was found with no attempts left'), null);
        return 'bury';
    elsif v_ending = 'retry' and v_attempt >= p_job.max_attempts then
        v_ending := 'bury';
    elsif v_ending = 'retry' and v_run_at > jobkit.retry_until(p_job) then
        v_ending := 'bury';
        v_reason := 'out_of_time';
    end if;
    if v_ending in ('retry', 'bury') then
        perform jobkit.log_attempt(p_job.id, v_attempt, v_ending, p.error, p.error_type, p_worker,
            p.took);
    end if;
    if v_ending in ('retry', 'snooze', 'release') and p_job.unique_while = 'queued' then
        v_by := jobkit.retake_key(p_job.unique_scope, p_job.unique_key, p_job.id);
    elsif v_ending in ('retry', 'snooze', 'release') then
        v_by := p_job.coalesced_by;
    end if;
    case
        when v_by is not null then
            v_ending := 'supersede';
            perform jobkit.finish(p_job, p_worker, p, p_by => v_by);
        when v_ending = 'bury' then
            perform jobkit.bury(p_job, v_attempt, v_reason, p.error, p_worker);
        when v_ending = 'release' and p.delay is null then
            perform jobkit.run_again(p_job);
        when v_ending in ('retry', 'snooze', 'release') then
            if v_ending = 'release' and p.error is not null then
                perform jobkit.stick('open', array[p_job.id], array[p.error], p_worker);
                select s.retry_at into v_run_at
                from jobkit.stuck_jobs s where s.job_id = p_job.id;
            end if;
            update jobkit.jobs j set run_at = v_run_at, due_since = null,
                attempt = j.attempt + (v_ending = 'retry')::integer,
                snoozes = j.snoozes + (v_ending = 'snooze')::integer,
                waits_since = p_job.waits_since,
                crashes = case when v_ending = 'release' then j.crashes else 0 end
            where j.id = p_job.id;
            insert into jobkit.scheduled (run_at, job_id, retrying)
            values (v_run_at, p_job.id, v_ending = 'retry' or p_job.attempt > 0);
        when v_ending in ('finish', 'discard', 'cancel', 'expire') then
            p.outcome := v_ending;
            p.reason := case v_ending when 'finish' then p.reason else p.error end;
            perform jobkit.finish(p_job, p_worker, p);
    end case;
    return case when v_ending = 'snooze' then p.outcome else v_ending end;
end
$$;
