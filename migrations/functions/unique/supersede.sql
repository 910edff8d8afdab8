-- supersede: ends a job that was to run again, since another one has its unique key by now, or runs
-- instead of it.
create or replace function jobkit.supersede(
    p_job jobkit.jobs, p_by bigint, p_attempt integer, p_worker bigint, p_took interval
) returns void
language plpgsql as $$
begin
    -- With the errors of all attempts, the last one too.
    p_job.attempt := p_attempt;
    perform jobkit.finish(p_job, 'discard', p_attempt, case p_job.unique_while
        when 'coalesce' then 'coalesced into job ' else 'superseded by job ' end || p_by, null,
        p_worker, p_took);
end
$$;
