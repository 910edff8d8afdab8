-- The ways a job can end or continue, shared by settle, reap and cancel. The caller holds its row.

-- log_attempt: records a failed attempt of a live job. If the number exists, since the
-- job was set back by hand, it is overwritten: no outcome may fail for that.
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
