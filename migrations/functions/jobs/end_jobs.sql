-- end_jobs: ends jobs that do not become dead letters, and moves them to the history for as long as
-- p.keep says.
--   p_outcome  how they ended
--   p_charged  how many attempts to charge
-- Returns the jobs that existed. Bulk success, the common case, is one statement.
create or replace function jobkit.end_jobs(
    p_worker bigint, p_jobs bigint[], p jobkit.outcomes, p_outcome text default 'finish',
    p_charged integer default 1
) returns bigint[]
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_logged constant boolean := p_outcome in ('supersede', 'coalesce');     -- not charged yet
    v_first timestamptz;
    v_last timestamptz;
    v_gaps boolean;
    v_gone bigint[];
    v_retried boolean;
    v_awaited boolean;                           -- whether somebody waits for any
    v_scopes text[];                             -- … of jobs with a unique key
    v_keys text[];
    v_unique bigint[];
    v_batches bigint[];                          -- … of members of batches
begin
    if array_remove(p.keep, null) = '{}' then
        with gone as (
            delete from jobkit.jobs j where j.id = any (p_jobs) returning j.id, j.attempt,
                j.unique_scope, j.unique_key, j.unique_while, j.awaited, j.batch_id
        )
        select array_agg(g.id), coalesce(bool_or(g.attempt > 0), false), bool_or(g.awaited),
            array_agg(g.unique_scope) filter (where g.unique_while <> 'coalesce'),
            array_agg(g.unique_key) filter (where g.unique_while <> 'coalesce'),
            array_agg(g.id) filter (where g.unique_while <> 'coalesce'),
            array_agg(g.batch_id) filter (where g.batch_id is not null)
        into v_gone, v_retried, v_awaited, v_scopes, v_keys, v_unique, v_batches
        from gone g;
    else
        -- The same as `expiry`, but without a call for each row: it is called only if a day is
        -- missing.
        select min(d.day)::timestamp at time zone 'UTC',
            (max(d.day) + 1)::timestamp at time zone 'UTC' - interval '1 microsecond',
            max(d.day) - min(d.day) >= count(*)
        into v_first, v_last, v_gaps
        from jobkit.finished_days d;
        if v_last is null then
            v_last := jobkit.expiry('infinity');
        end if;
        with gone as (
            delete from jobkit.jobs j where j.id = any (p_jobs) returning j.*
        ), kept as (
            insert into jobkit.finished (job_id, kind, queue, priority, outcome, attempt,
                max_attempts, snoozes, created_at, run_at, finished_at, took, worker_id,
                concurrency_group, concurrency_key, dead_letter_id, errors, args, tags, metadata,
                version, terms, batch_id, reason, result, expires_at)
            select g.id, g.kind, g.queue, g.priority, p_outcome, g.attempt + p_charged,
                g.max_attempts, g.snoozes, g.created_at, g.run_at, v_now, i.took, p_worker,
                g.concurrency_group, g.concurrency_key, g.dead_letter_id,
                case when g.attempt > 0 or v_logged then jobkit.errors_of(g.id) end,
                g.args, g.tags, g.metadata, g.version, g.terms, g.batch_id, i.reason,
                i.result::json, case when v_gaps then jobkit.expiry(v_now + i.keep)
                    else greatest(least(v_now + i.keep, v_last), v_first) end
            from unnest(p.job, p.keep, p.took, p.reason, p.result)
                as i (job, keep, took, reason, result)
            join gone g on g.id = i.job
            where i.keep is not null
        )
        select array_agg(g.id), coalesce(bool_or(g.attempt > 0), false), bool_or(g.awaited),
            array_agg(g.unique_scope) filter (where g.unique_while <> 'coalesce'),
            array_agg(g.unique_key) filter (where g.unique_while <> 'coalesce'),
            array_agg(g.id) filter (where g.unique_while <> 'coalesce'),
            array_agg(g.batch_id) filter (where g.batch_id is not null)
        into v_gone, v_retried, v_awaited, v_scopes, v_keys, v_unique, v_batches
        from gone g;
    end if;
    if v_retried or v_logged then
        delete from jobkit.attempts a where a.job_id = any (p_jobs);
    end if;
    if v_unique is not null then
        perform jobkit.free_keys(v_scopes, v_keys, v_unique, p_outcome = 'finish');
    end if;
    if v_batches is not null then perform jobkit.leave_batches(v_batches, p_outcome); end if;
    if v_awaited then perform jobkit.tell_end(); end if;
    return v_gone;
end
$$;
