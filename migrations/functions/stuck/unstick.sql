-- unstick: removes the records of stuck jobs that went through.
create or replace function jobkit.unstick(p_jobs bigint[]) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
    delete from jobkit.stuck_jobs s where s.job_id = any (p_jobs)
$$;
