-- outcomes: makes outcomes of claimed jobs from named columns, as `new_jobs` does for jobs.
create or replace function jobkit.outcomes(
    p_n bigint[], p_job bigint[], p_outcome text[], p_error text[] default '{}',
    p_error_type text[] default '{}', p_reason text[] default '{}', p_delay interval[] default '{}',
    p_keep interval[] default '{}', p_took interval[] default '{}', p_result text[] default '{}'
) returns jobkit.outcomes
language sql stable as $$
    select row(
        p_n, p_job, p_outcome, p_error, p_error_type, p_reason, p_delay, p_keep, p_took, p_result
    )::jobkit.outcomes
$$;
