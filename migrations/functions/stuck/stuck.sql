-- stuck: the jobs to skip for now (`stick`), for five minutes at most: a time further ahead means
-- that the clock stepped back. A job that some worker could not open is not among them: it waits
-- for its time as usual.
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
