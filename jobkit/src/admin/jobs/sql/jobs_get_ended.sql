-- An ended job in the form that jobs_get.sql has for live ones: from the history, or as the last
-- job of a dead letter.
-- $1 job
select e.*, coalesce(e.own_scope, u.scope) as unique_scope,
    coalesce(e.own_key, u.key) as unique_key, false as coalesces,
    false as cancel_requested, null::timestamptz as cancel_requested_at,
    null::timestamptz as permit_since, k.redact, jobkit.timed_errors(e.failed, e.id) as errors,
    jobkit.reports_of(e.id) as reports, null::jsonb as checkpoint,
    jobkit.steps_of(e.id) as steps
from (
    select f.job_id as id, 'finished' as state, f.outcome, f.kind, f.queue,
        f.priority, f.attempt, f.max_attempts, f.worker_id, f.run_at, f.created_at,
        f.finished_at as since, f.took, f.concurrency_group, f.concurrency_key, f.tags,
        left(coalesce(f.reason, f.errors -> -1 ->> 'error'), 300) as error, 0 as crashes,
        f.snoozes, null as dead_letter_key, f.dead_letter_id as replays,
        null::bigint as dead_letter, null::bigint as replay_id, f.expires_at, f.reason,
        jobkit.as_jsonb(y.args::text)::text as args, y.metadata::text as metadata,
        f.terms ->> 'topic' as topic,
        f.errors as failed,
        coalesce(f.version, 1::smallint) as version, null as own_scope, null as own_key,
        y.result::text as result, f.batch_id, null::bigint as callback_of
    from jobkit.finished f
    join jobkit.shown_finished y on (y.job_id, y.expires_at) = (f.job_id, f.expires_at)
    where f.job_id = $1
    union all
    select d.job_id, 'dead', null, d.kind, d.queue, d.priority, d.attempt, d.max_attempts,
        d.worker_id, d.created_at, d.created_at, d.failed_at, null, d.concurrency_group,
        d.concurrency_key, d.tags, left(d.error, 300), 0, d.snoozes, d.key, null, d.id, d.replay_id,
        null, d.reason, jobkit.as_jsonb(y.args::text)::text, y.metadata::text,
        d.terms ->> 'topic', d.errors,
        coalesce(d.version, 1::smallint), d.unique_scope, d.unique_key, null, d.batch_id,
        d.callback_of
    from jobkit.dead_letters d join jobkit.shown_dead_letters y on y.id = d.id
    where d.job_id = $1
) e
left join jobkit.kinds k on k.kind = e.kind
left join jobkit.unique_keys u on u.job_id = e.id and u.held_until is not null
limit 1
