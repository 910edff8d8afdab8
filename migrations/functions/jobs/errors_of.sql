-- errors_of: the failed attempts of a job, oldest first, as history and dead letters keep them.
-- Only the newest 20: a job may have a thousand attempts.
create or replace function jobkit.errors_of(p_job bigint) returns jsonb
language sql as $$
    select jsonb_agg(to_jsonb(a) - 'job_id' order by a.attempt)
    from (
        select * from jobkit.attempts a where a.job_id = p_job order by a.attempt desc limit 20
    ) a
$$;
