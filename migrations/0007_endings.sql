-- The ways out of a job, shared by settle, reap and cancel. The caller holds the job's row.

-- log_attempt: remembers a failed attempt of a live job. Where one of that number is there already,
-- since somebody set a job back by hand, the new one takes its place: no outcome fails for that.
create function jobkit.log_attempt(
    p_job bigint, p_attempt integer, p_outcome text, p_error text, p_error_type text,
    p_worker bigint, p_took interval
) returns void
language sql as $$
    insert into jobkit.attempts (job_id, attempt, outcome, error, error_type, worker_id, ended_at,
        took)
    values (p_job, p_attempt, p_outcome, p_error, p_error_type, p_worker, clock_timestamp(),
        p_took)
    on conflict (job_id, attempt) do update set outcome = excluded.outcome,
        error = excluded.error, error_type = excluded.error_type,
        worker_id = excluded.worker_id, ended_at = excluded.ended_at, took = excluded.took
$$;

-- errors_of: the failed attempts of a job, oldest first, as its last resting place keeps them.
-- The newest 20 only: a job may have a thousand attempts.
create function jobkit.errors_of(p_job bigint) returns jsonb
language sql as $$
    select jsonb_agg(to_jsonb(a) - 'job_id' order by a.attempt)
    from (
        select * from jobkit.attempts a where a.job_id = p_job order by a.attempt desc limit 20
    ) a
$$;

-- expiry: when a job expires that is to be kept until p_wanted: then, if `finished` has that day,
-- else when the next one that it has begins, else at the end of the last; makes today's where it
-- has none. Days are missing before the first and between others once the clock has been wrong, and
-- no outcome may fail for that.
create function jobkit.expiry(p_wanted timestamptz) returns timestamptz
language plpgsql as $$
declare
    v_day date;
begin
    select min(d.day) into v_day from jobkit.finished_days d
    where d.day >= (p_wanted at time zone 'UTC')::date;
    if v_day is not null then
        return greatest(p_wanted, v_day::timestamp at time zone 'UTC');
    end if;
    if not exists (select from jobkit.finished_days) then
        perform jobkit.finished_prepare(0);
    end if;
    return least(p_wanted, (
        select (max(d.day) + 1)::timestamp at time zone 'UTC' - interval '1 microsecond'
        from jobkit.finished_days d
    ));
end
$$;

-- make_ready: a job without a concurrency key that must run again at once; one with a key asks for
-- its permit again (`block`). make_scheduled: either, later, and whether it has failed before.
create function jobkit.make_ready(p_job jobkit.jobs) returns void
language plpgsql as $$
begin
    if p_job.concurrency_key is not null then
        perform jobkit.block(array[p_job.id]);
    else
        insert into jobkit.ready (queue, priority, job_id, kind)
        values (p_job.queue, p_job.priority, p_job.id, p_job.kind);
    end if;
end
$$;

create function jobkit.make_scheduled(
    p_job bigint, p_run_at timestamptz, p_retrying boolean
) returns void
language sql as $$
    insert into jobkit.scheduled (run_at, job_id, retrying) values (p_run_at, p_job, p_retrying)
$$;

-- finish: the job has ended without becoming a dead letter; the one that it replays is resolved, or
-- open again. Kept for p_keep, or not at all when null.
create function jobkit.finish(
    p_job jobkit.jobs, p_outcome text, p_attempt integer, p_reason text, p_keep interval,
    p_worker bigint, p_took interval
) returns void
language plpgsql as $$
declare
    v_expiry timestamptz;
begin
    if p_keep is not null then
        -- Not in the statement, which would be in the way of a day that is made.
        v_expiry := jobkit.expiry(clock_timestamp() + p_keep);
        insert into jobkit.finished (job_id, kind, queue, priority, outcome, attempt, max_attempts,
            snoozes, created_at, run_at, finished_at, took, worker_id, concurrency_group,
            concurrency_key, dead_letter_id, reason, errors, args, tags, metadata, expires_at)
        values (p_job.id, p_job.kind, p_job.queue, p_job.priority, p_outcome, p_attempt,
            p_job.max_attempts, p_job.snoozes, p_job.created_at, p_job.run_at, clock_timestamp(),
            p_took, p_worker, p_job.concurrency_group, p_job.concurrency_key,
            p_job.dead_letter_id, p_reason,
            case when p_job.attempt > 0 then jobkit.errors_of(p_job.id) end,
            p_job.args, p_job.tags, p_job.metadata, v_expiry);
    end if;
    delete from jobkit.attempts a where a.job_id = p_job.id;
    delete from jobkit.jobs j where j.id = p_job.id;
    if p_job.dead_letter_id is null then
        null;
    elsif p_outcome = 'finish' then
        perform jobkit.resolve(p_job);
    else
        perform jobkit.reopen(p_job);
    end if;
end
$$;

-- finish_all: success, the common case, as one statement each way. Returns the jobs that were
-- there.
create function jobkit.finish_all(
    p_worker bigint, p_finish bigint[], p_job bigint[], p_keep interval[], p_took interval[]
) returns bigint[]
language plpgsql as $$
declare
    v_now constant timestamptz := clock_timestamp();
    v_first timestamptz;
    v_last timestamptz;
    v_gaps boolean;
    v_gone bigint[];
    v_retried boolean;
begin
    if array_remove(p_keep, null) = '{}' then
        with gone as (
            delete from jobkit.jobs j where j.id = any (p_finish) returning j.id, j.attempt
        )
        select array_agg(g.id), coalesce(bool_or(g.attempt > 0), false) into v_gone, v_retried
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
                concurrency_group, concurrency_key, errors, args, tags, metadata, expires_at)
            select g.id, g.kind, g.queue, g.priority, 'finish', g.attempt + 1, g.max_attempts,
                g.snoozes, g.created_at, g.run_at, v_now, i.took, p_worker,
                g.concurrency_group, g.concurrency_key,
                case when g.attempt > 0 then jobkit.errors_of(g.id) end,
                g.args, g.tags, g.metadata,
                case when v_gaps then jobkit.expiry(v_now + i.keep)
                    else greatest(least(v_now + i.keep, v_last), v_first) end
            from unnest(p_job, p_keep, p_took) as i (job, keep, took)
            join gone g on g.id = i.job
            where i.keep is not null
        )
        select array_agg(g.id), coalesce(bool_or(g.attempt > 0), false) into v_gone, v_retried
        from gone g;
    end if;
    if v_retried then
        delete from jobkit.attempts a where a.job_id = any (p_finish);
    end if;
    return v_gone;
end
$$;

-- stuck: the jobs to be passed over for now (0029_stuck.sql).
create function jobkit.stuck() returns bigint[]
language sql
set search_path = pg_catalog, pg_temp
as $$
    select array(select s.job_id from jobkit.stuck_jobs s where s.retry_at > clock_timestamp())
$$;
