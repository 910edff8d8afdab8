-- finish_all: success, the common case, as one statement each way. Returns the jobs that were
-- there.
create or replace function jobkit.finish_all(
    p_worker bigint, p_finish bigint[], p_job bigint[], p_keep interval[], p_took interval[],
    p_reason text[], p_result text[]
) returns bigint[]
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_first timestamptz;
    v_last timestamptz;
    v_gaps boolean;
    v_gone bigint[];
    v_retried boolean;
    v_awaited boolean;                           -- whether some are waited for
    v_scopes text[];                             -- of those that had a unique key
    v_keys text[];
    v_unique bigint[];
begin
    if array_remove(p_keep, null) = '{}' then
        with gone as (
            delete from jobkit.jobs j where j.id = any (p_finish) returning j.id, j.attempt,
                j.unique_scope, j.unique_key, j.unique_while, j.awaited
        )
        select array_agg(g.id), coalesce(bool_or(g.attempt > 0), false), bool_or(g.awaited),
            array_agg(g.unique_scope) filter (where g.unique_while <> 'coalesce'),
            array_agg(g.unique_key) filter (where g.unique_while <> 'coalesce'),
            array_agg(g.id) filter (where g.unique_while <> 'coalesce')
        into v_gone, v_retried, v_awaited, v_scopes, v_keys, v_unique
        from gone g;
    else
        -- What `expiry` says, which would ask for each row: here only where a day is missing.
        select min(d.day)::timestamp at time zone 'UTC',
            (max(d.day) + 1)::timestamp at time zone 'UTC' - interval '1 microsecond',
            max(d.day) - min(d.day) >= count(*)
        into v_first, v_last, v_gaps
        from jobkit.finished_days d;
        if v_last is null then
            v_last := jobkit.expiry('infinity');
        end if;
        with gone as (
            delete from jobkit.jobs j where j.id = any (p_finish) returning j.*
        ), kept as (
            insert into jobkit.finished (job_id, kind, queue, priority, outcome, attempt,
                max_attempts, snoozes, created_at, run_at, finished_at, took, worker_id,
                concurrency_group, concurrency_key, errors, args, tags, metadata, version,
                reason, result, expires_at)
            select g.id, g.kind, g.queue, g.priority, 'finish', g.attempt + 1, g.max_attempts,
                g.snoozes, g.created_at, g.run_at, v_now, i.took, p_worker,
                g.concurrency_group, g.concurrency_key,
                case when g.attempt > 0 then jobkit.errors_of(g.id) end,
                g.args, g.tags, g.metadata, g.version, i.reason, i.result::json,
                case when v_gaps then jobkit.expiry(v_now + i.keep)
                    else greatest(least(v_now + i.keep, v_last), v_first) end
            from unnest(p_job, p_keep, p_took, p_reason, p_result)
                as i (job, keep, took, reason, result)
            join gone g on g.id = i.job
            where i.keep is not null
        )
        select array_agg(g.id), coalesce(bool_or(g.attempt > 0), false), bool_or(g.awaited),
            array_agg(g.unique_scope) filter (where g.unique_while <> 'coalesce'),
            array_agg(g.unique_key) filter (where g.unique_while <> 'coalesce'),
            array_agg(g.id) filter (where g.unique_while <> 'coalesce')
        into v_gone, v_retried, v_awaited, v_scopes, v_keys, v_unique
        from gone g;
    end if;
    if v_retried then
        delete from jobkit.attempts a where a.job_id = any (p_finish);
    end if;
    if v_unique is not null then
        perform jobkit.free_keys(v_scopes, v_keys, v_unique, true);
    end if;
    if v_awaited then
        perform jobkit.tell_end();
    end if;
    return v_gone;
end
$$;
