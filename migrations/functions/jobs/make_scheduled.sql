-- make_scheduled: schedules a job to run later, with or without a concurrency key, and records
-- whether it has failed before.
create or replace function jobkit.make_scheduled(
    p_job bigint, p_run_at timestamptz, p_retrying boolean
) returns void
language sql as $$
    insert into jobkit.scheduled (run_at, job_id, retrying) values (p_run_at, p_job, p_retrying)
$$;
