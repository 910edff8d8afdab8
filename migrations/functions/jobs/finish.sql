-- finish: ends a job without making it a dead letter. If it is the current replay of a dead letter,
-- that is resolved after a success, and open again otherwise.
--   p_by    the job that has its unique key now, or runs instead of it: so it ends, whatever p says
--   p.keep  how long the job is kept; null: not at all after a success, otherwise as long as its
--           kind says, since an outcome that was to continue the job has no retention
create or replace function jobkit.finish(
    p_job jobkit.jobs, p_worker bigint, p jobkit.outcome, p_charged integer default 1,
    p_by bigint default null
) returns void
language plpgsql as $$
declare
    v_success constant boolean := p.outcome = 'finish' and p_by is null;
begin
    if p_by is not null and p_job.unique_while = 'coalesce' then
        p.outcome := 'coalesce';
        p.reason := 'coalesced into job ' || p_by;
    elsif p_by is not null then
        p.outcome := 'supersede';
        p.reason := 'superseded by job ' || p_by;
    end if;
    if p.keep is null and not v_success then
        p.keep := (select coalesce(k.retention_discarded, k.retention)
            from jobkit.kinds k where k.kind = p_job.kind);
    end if;
    perform jobkit.end_jobs(p_worker, array[p_job.id], jobkit.outcomes(
        p_n => array[p.n], p_job => array[p_job.id], p_outcome => array[p.outcome],
        p_reason => array[p.reason], p_keep => array[p.keep], p_took => array[p.took],
        p_result => array[p.result]), p.outcome, p_charged);
    if p_job.dead_letter_id is null then
        return;
    end if;
    update jobkit.dead_letters d
    set state = case when v_success then 'resolved' else 'open' end,
        resolved_at = case when v_success then clock_timestamp() end,
        generation = d.generation + (not v_success)::integer
    where d.id = p_job.dead_letter_id and d.generation = p_job.generation
        and d.state = 'replaying';
    if found and v_success then
        perform jobkit.release_held(array[p_job.dead_letter_id], 'finish');
    elsif found then
        -- The next replay goes on after them.
        update jobkit.steps s set job_id = l.job_id
        from jobkit.dead_letters l
        where l.id = p_job.dead_letter_id and s.job_id = p_job.id
            and l.args::text = p_job.args::text;
    end if;
end
$$;
