-- make_scheduled: a job that runs later, with a concurrency key or without; and whether it has
-- failed before.
create or replace function jobkit.make_scheduled(
    p_job bigint, p_run_at timestamptz, p_retrying boolean
) returns void
language sql as $$
    insert into jobkit.scheduled (run_at, job_id, retrying) values (p_run_at, p_job, p_retrying)
$$;
