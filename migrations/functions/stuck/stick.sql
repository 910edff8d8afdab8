-- Stuck jobs: a transition fails with them because of the server, not the job. They are never
-- dropped and never charged for it. A worker that meets one does the others, records it here, and
-- tries it again later. `promote` removes records of jobs that nobody has met again.

-- stick: records that p_transition failed with these jobs. They are left alone for 10 seconds, and
-- twice as long after each further failure, up to 5 minutes; returns how long.
create or replace function jobkit.stick(
    p_transition text, p_jobs bigint[], p_errors text[], p_worker bigint
) returns table (job_id bigint, wait interval)
language sql
set search_path = pg_catalog, pg_temp
as $$
    insert into jobkit.stuck_jobs as s (job_id, transition, error, since, tries, retry_at,
        worker_id)
    select u.job, p_transition, left(u.error, 2000), clock_timestamp(), 1,
        clock_timestamp() + interval '10 s', p_worker
    from unnest(p_jobs, p_errors) as u (job, error) order by u.job
    on conflict on constraint stuck_jobs_pkey do update
    set transition = excluded.transition, error = excluded.error, worker_id = excluded.worker_id,
        tries = s.tries + 1, retry_at = clock_timestamp()
            + least(interval '5 min', interval '10 s' * power(2, least(s.tries, 5)))
    returning s.job_id, s.retry_at - clock_timestamp()
$$;
