-- payload_size: how many bytes of a job are sent to a worker. Payloads are stored uncompressed, so
-- their stored size is their size.
create or replace function jobkit.payload_size(p_job jobkit.jobs) returns integer
language sql stable as $$
    select pg_column_size(p_job.args) + coalesce(pg_column_size(p_job.metadata), 0)
        + coalesce(pg_column_size(p_job.terms), 0)
$$;
