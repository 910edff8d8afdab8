-- Those of these dead letters that exist, with everything stored about them, the newest failure
-- first; times in their errors are microseconds.
-- $1 dead letters
select d.id, d.state, d.kind, d.queue, d.key, d.reason, left(d.error, 300) as error, d.fingerprint,
    d.cycles, d.attempts, d.first_failed_at, d.failed_at, d.error as full_error, d.generation,
    d.job_id, d.replay_id, d.replay_at, d.resolved_at, d.priority, d.max_attempts, d.attempt,
    d.snoozes, d.created_at, d.worker_id, d.concurrency_group, d.concurrency_key, d.tags,
    jobkit.as_jsonb(y.args::text)::text as args, y.metadata::text as metadata,
    coalesce(d.version, 1::smallint) as version, k.redact,
    jobkit.timed_errors(d.errors, d.job_id) as errors
from jobkit.dead_letters d
join jobkit.shown_dead_letters y on y.id = d.id
left join jobkit.kinds k on k.kind = d.kind
where d.id = any ($1)
order by d.failed_at desc, d.id desc
