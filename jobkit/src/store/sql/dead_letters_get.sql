-- A dead letter with all that is kept of it; times in its errors are microseconds.
-- $1 dead letter
select d.id, d.state, d.kind, d.queue, d.key, d.reason, left(d.error, 300) as error, d.fingerprint,
    d.cycles, d.attempts, d.first_failed_at, d.failed_at, d.error as full_error, d.generation,
    d.job_id, d.replay_id, d.replay_at, d.resolved_at, d.priority, d.max_attempts, d.attempt,
    d.snoozes, d.created_at, d.worker_id, d.concurrency_group, d.concurrency_key, d.args, d.tags,
    d.metadata,
    (
        select coalesce(jsonb_agg(e.value || jsonb_build_object(
            'ended_at', (extract(epoch from (e.value ->> 'ended_at')::timestamptz) * 1e6)::bigint,
            'took', (extract(epoch from (e.value ->> 'took')::interval) * 1e6)::bigint
        ) order by e.place), '[]')
        from jsonb_array_elements(d.errors) with ordinality as e (value, place)
    ) as errors
from jobkit.dead_letters d
where d.id = $1
