-- finish: the job has ended without becoming a dead letter; the one that it replays is resolved, or
-- open again, if it is the replay of this generation. Kept for p.keep; when that is null, not at
-- all after a success, else as its kind says: one that was to go on brings no retention along.
create or replace function jobkit.finish(
    p_job jobkit.jobs, p_worker bigint, p jobkit.outcome, p_charged integer default 1
) returns void
language plpgsql as $$
declare
    v_success constant boolean := p.outcome = 'finish';
begin
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
end
$$;
