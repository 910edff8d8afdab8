-- Jobs with which a transition fails through no fault of theirs, the longest so first.
-- $1 this one only, or null, $2 how many at most
select job_id, transition, error, since, tries, retry_at from jobkit.stuck_jobs
where $1::bigint is null or job_id = $1
order by since, job_id limit $2
