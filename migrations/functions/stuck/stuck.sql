-- stuck: the jobs to be passed over for now (0029_stuck.sql). One that some worker could not open
-- is no such job: it waits for its time like any other.
create or replace function jobkit.stuck() returns bigint[]
language sql
set search_path = pg_catalog, pg_temp
as $$
    select array(
        select s.job_id from jobkit.stuck_jobs s
        where s.retry_at > clock_timestamp() and s.transition <> 'open'
    )
$$;
