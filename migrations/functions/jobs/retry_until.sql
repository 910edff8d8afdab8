-- retry_until: until when a job that fails is tried again, by a budget that begins with its first
-- failure, perhaps just now, or with the waits that it is told now; null without one.
create or replace function jobkit.retry_until(p_job jobkit.jobs) returns timestamptz
language sql stable as $$
    select t.retry_for + least(
        (select min(a.ended_at) from jobkit.attempts a where a.job_id = p_job.id),
        p_job.waits_since, clock_timestamp())
    from jobkit.terms(p_job.kind, p_job.terms) t
$$;
