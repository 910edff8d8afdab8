-- A live job with everything known about it. Reads all rows of `claims`, which is small.
-- $1 job
select j.*, null as outcome, c.worker_id, coalesce(c.claimed_at, b.since) as since,
    null::interval as took, p.crashes, p.snoozes, p.cancel_requested_at, p.dead_letter_key,
    p.unique_scope, p.unique_key, p.unique_while is not distinct from 'coalesce' as coalesces,
    p.batch_id, p.callback_of, p.dead_letter_id as replays, null::bigint as dead_letter,
    null::bigint as replay_id, t.since as permit_since, null::timestamptz as expires_at,
    null as reason, null as result, jobkit.as_jsonb(y.args::text)::text as args,
    y.metadata::text as metadata, p.terms ->> 'topic' as topic,
    coalesce(p.version, 1::smallint) as version, k.redact,
    jobkit.timed_errors(jobkit.errors_of(j.id), j.id) as errors,
    jobkit.reports_of(j.id) as reports, case when s.job_id is not null then jsonb_build_object(
        'attempt', s.attempt, 'bytes', s.bytes,
        'saved_at', (extract(epoch from s.saved_at) * 1e6)::bigint) end as checkpoint,
    jobkit.steps_of(j.id) as steps
from jobkit.listed_jobs j
join jobkit.jobs p on p.id = j.id
join jobkit.shown_jobs y on y.id = j.id
left join jobkit.claims c on j.state = 'running' and j.id = any (c.job_ids)
left join jobkit.blocked_executions b on b.job_id = j.id and (b.concurrency_group,
    b.concurrency_key, b.priority) = (j.concurrency_group, j.concurrency_key, j.priority)
left join jobkit.permits t on t.job_id = j.id
left join jobkit.shown_steps s on s.job_id = j.id and s.name = ''
left join jobkit.kinds k on k.kind = j.kind
where j.id = $1
