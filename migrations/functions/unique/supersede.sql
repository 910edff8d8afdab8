-- supersede: ends a job that was to run again, because another job has its unique key now, or runs
-- instead. The errors of all attempts are kept, including the last.
create or replace function jobkit.supersede(
    p_job jobkit.jobs, p_by bigint, p_worker bigint, p_took interval,
    p_charged integer default 1
) returns void
language plpgsql as $$
declare
    v_outcome jobkit.outcome;
begin
    v_outcome.took := p_took;
    v_outcome.outcome := case p_job.unique_while when 'coalesce' then 'coalesce'
        else 'supersede' end;
    v_outcome.reason := case p_job.unique_while when 'coalesce' then 'coalesced into job '
        else 'superseded by job ' end || p_by;
    perform jobkit.finish(p_job, p_worker, v_outcome, p_charged);
end
$$;
