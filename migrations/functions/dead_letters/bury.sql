-- bury: turns a job into a dead letter, with the errors of its attempts, or adds it to the dead
-- letter that it replays or shares; that is open afterwards. The caller holds the row of the job
-- and locks dead letters in their order.
-- The dead letter of a job that coalesced has no unique key: its replay would be the newest, with
-- an old payload. A dead letter with a key is found by that. If it was removed, a new one is made,
-- with a new id: replays of the old one may still be running. The new id is one that no dead letter
-- has, whatever the sequence says (`set_sequences`).
create or replace function jobkit.bury(
    p_job jobkit.jobs, p_attempt integer, p_reason text, p_error text, p_worker bigint
) returns void
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_new jobkit.dead_letters;
    v_kind jobkit.kinds;
    v_tries integer := 0;
begin
    if p_job.unique_while = 'coalesce' then
        p_job.unique_scope := null;
        p_job.unique_key := null;
        p_job.unique_while := null;
    end if;
    v_new.id := case when p_job.dead_letter_key is null then p_job.dead_letter_id end;
    while v_new.id is null loop
        v_new.id := nextval('jobkit.dead_letters_id_seq');
        if exists (select from jobkit.dead_letters d where d.id = v_new.id) then
            v_new.id := null;
            v_tries := v_tries + 1;
            perform jobkit.refuse(case when v_tries = 10000 then 'no free id for a dead '
                || 'letter was found: call jobkit.set_sequences()' end);
        end if;
    end loop;
    select * into v_kind from jobkit.kinds k where k.kind = p_job.kind;
    v_new.errors := coalesce(jobkit.errors_of(p_job.id), '[]');
    v_new.fingerprint := jobkit.fingerprint(p_job.kind, p_reason, v_new.errors, p_error);
    v_new.errors := (
        select coalesce(jsonb_agg(e || jsonb_build_object('job_id', p_job.id)), '[]')
        from jsonb_array_elements(v_new.errors) as e
    );
    insert into jobkit.dead_letters as d (id, kind, key, job_id, queue, priority, max_attempts,
        reason, error, fingerprint, errors, attempt, attempts, snoozes, created_at,
        first_failed_at, failed_at, replay_at, worker_id, concurrency_group, concurrency_key,
        args, tags, metadata, version, unique_scope, unique_key, unique_while, terms,
        batch_id, callback_of)
    values (v_new.id, p_job.kind,
        p_job.dead_letter_key, p_job.id, p_job.queue, p_job.priority, p_job.max_attempts,
        p_reason, p_error, v_new.fingerprint, jobkit.newest_errors(v_new.errors), p_attempt,
        p_attempt, p_job.snoozes, p_job.created_at, v_now, v_now,
        case when v_kind.max_cycles > 1 then v_now + v_kind.auto_replay end, p_worker,
        p_job.concurrency_group, p_job.concurrency_key, p_job.args, p_job.tags, p_job.metadata,
        p_job.version, p_job.unique_scope, p_job.unique_key, p_job.unique_while, p_job.terms,
        p_job.batch_id, p_job.callback_of)
    on conflict (coalesce(key, ''), kind, (case when key is null then id else 0 end))
    do update set state = 'open', generation = d.generation + 1, cycles = d.cycles + 1,
        job_id = excluded.job_id, queue = excluded.queue, priority = excluded.priority,
        max_attempts = excluded.max_attempts, reason = excluded.reason, error = excluded.error,
        fingerprint = excluded.fingerprint,
        errors = jobkit.newest_errors(d.errors || excluded.errors),
        attempt = excluded.attempt, attempts = d.attempts + excluded.attempts,
        snoozes = excluded.snoozes, created_at = excluded.created_at,
        failed_at = greatest(d.failed_at, excluded.failed_at),
        replay_at = case when d.cycles + 1 < v_kind.max_cycles
            then excluded.failed_at + v_kind.auto_replay end,
        resolved_at = null, worker_id = excluded.worker_id,
        concurrency_group = excluded.concurrency_group,
        concurrency_key = excluded.concurrency_key, args = excluded.args,
        version = excluded.version, unique_scope = excluded.unique_scope,
        unique_key = excluded.unique_key, unique_while = excluded.unique_while,
        tags = excluded.tags, metadata = excluded.metadata, terms = excluded.terms,
        batch_id = case when p_job.dead_letter_id is null then excluded.batch_id else d.batch_id
            end, callback_of = excluded.callback_of
    returning d.id into v_new.id;
    delete from jobkit.attempts a where a.job_id = p_job.id;
    delete from jobkit.jobs j where j.id = p_job.id;
    if p_job.batch_id is not null then
        perform jobkit.hold_batch(p_job, v_new.id);
    end if;
    if p_job.awaited then
        perform jobkit.tell_end();
    end if;
    if p_job.unique_key is not null then
        perform jobkit.free_keys(array[p_job.unique_scope], array[p_job.unique_key],
            array[p_job.id], true);
    end if;
end
$$;
