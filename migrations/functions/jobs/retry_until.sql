-- retry_until: until when a failing job is retried; null without a budget. The budget begins with
-- the first failure, which may be this one, or with the current series of waits.
create or replace function jobkit.retry_until(p_job jobkit.jobs) returns timestamptz
language sql stable as $$
    select t.retry_for + least(
        (select min(a.ended_at) from jobkit.attempts a where a.job_id = p_job.id),
        p_job.waits_since, clock_timestamp())
    from jobkit.terms(p_job.kind, p_job.terms) t
$$;
