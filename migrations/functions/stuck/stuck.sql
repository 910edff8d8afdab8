-- stuck: the jobs to be passed over for now (`stick`), for five minutes at most: what is further
-- ahead is of a clock that stepped back. One that some worker could not open
-- is no such job: it waits for its time like any other.
create or replace function jobkit.stuck() returns bigint[]
language sql
set search_path = pg_catalog, pg_temp
as $$
    select array(
        select s.job_id from jobkit.stuck_jobs s
        where s.retry_at between clock_timestamp() and clock_timestamp() + interval '5 min'
            and s.transition <> 'open'
    )
$$;
