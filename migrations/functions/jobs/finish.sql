-- finish: the job has ended without becoming a dead letter; the one that it replays is resolved, or
-- open again, if it is the replay of this generation. Kept for p_keep; when that is null, not at
-- all after a success, else as its kind says: one that was to go on brings no retention along.
-- p_outcome: `finish`, `discard`, `cancel`, `expire`, `supersede` or `coalesce`. p_reason: why, or
-- why p_result is not there.
create or replace function jobkit.finish(
    p_job jobkit.jobs, p_outcome text, p_attempt integer, p_reason text, p_keep interval,
    p_worker bigint, p_took interval, p_result json default null
) returns void
language plpgsql as $$
declare
    v_success constant boolean := p_outcome = 'finish';
    v_keep constant interval := coalesce(p_keep, (
        select coalesce(k.retention_discarded, k.retention)
        from jobkit.kinds k where k.kind = p_job.kind and not v_success
    ));
    v_expiry timestamptz;
begin
    if v_keep is not null then
        -- Not in the statement, which would be in the way of a day that is made.
        v_expiry := jobkit.expiry(clock_timestamp() + v_keep);
        insert into jobkit.finished (job_id, kind, queue, priority, outcome, attempt, max_attempts,
            snoozes, created_at, run_at, finished_at, took, worker_id, concurrency_group,
            concurrency_key, dead_letter_id, reason, errors, args, tags, metadata, version,
            result, expires_at)
        values (p_job.id, p_job.kind, p_job.queue, p_job.priority, p_outcome, p_attempt,
            p_job.max_attempts, p_job.snoozes, p_job.created_at, p_job.run_at, clock_timestamp(),
            p_took, p_worker, p_job.concurrency_group, p_job.concurrency_key,
            p_job.dead_letter_id, p_reason,
            case when p_job.attempt > 0 then jobkit.errors_of(p_job.id) end,
            p_job.args, p_job.tags, p_job.metadata, p_job.version,
            p_result, v_expiry);
    end if;
    delete from jobkit.attempts a where a.job_id = p_job.id;
    delete from jobkit.jobs j where j.id = p_job.id;
    if p_job.awaited then
        perform jobkit.tell_end();
    end if;
    if p_job.unique_key is not null then
        perform jobkit.free_keys(array[p_job.unique_scope], array[p_job.unique_key],
            array[p_job.id], v_success);
    end if;
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
