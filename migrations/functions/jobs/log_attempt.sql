-- The ways out of a job, shared by settle, reap and cancel. The caller holds the job's row.

-- log_attempt: remembers a failed attempt of a live job. Where one of that number is there already,
-- since somebody set a job back by hand, the new one takes its place: no outcome fails for that.
create or replace function jobkit.log_attempt(
    p_job bigint, p_attempt integer, p_outcome text, p_error text, p_error_type text,
    p_worker bigint, p_took interval
) returns void
language sql as $$
    insert into jobkit.attempts (job_id, attempt, outcome, error, error_type, worker_id, ended_at,
        took)
    values (p_job, p_attempt, p_outcome, p_error, p_error_type, p_worker, clock_timestamp(),
        p_took)
    on conflict (job_id, attempt) do update set outcome = excluded.outcome,
        error = excluded.error, error_type = excluded.error_type,
        worker_id = excluded.worker_id, ended_at = excluded.ended_at, took = excluded.took
$$;
