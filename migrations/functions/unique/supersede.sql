-- supersede: ends a job that was to run again, since another one has its unique key by now, or runs
-- instead of it.
create or replace function jobkit.supersede(
    p_job jobkit.jobs, p_by bigint, p_attempt integer, p_worker bigint, p_took interval
) returns void
language plpgsql as $$
begin
    -- With the errors of all attempts, the last one too.
    p_job.attempt := p_attempt;
    if p_job.unique_while = 'coalesce' then
        perform jobkit.finish(p_job, 'coalesce', p_attempt, 'coalesced into job ' || p_by, null,
            p_worker, p_took);
    else
        perform jobkit.finish(p_job, 'supersede', p_attempt, 'superseded by job ' || p_by, null,
            p_worker, p_took);
    end if;
end
$$;
