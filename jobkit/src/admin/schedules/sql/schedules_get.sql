-- What a schedule enqueues.
-- $1 name
select jobkit.as_jsonb(y.args::text)::text as args, y.metadata::text as metadata, s.tags,
    coalesce(s.version, 1::smallint) as version, s.priority, s.max_attempts, s.concurrency_group,
    s.concurrency_key, s.dead_letter_key, s.created_at, k.redact
from jobkit.schedules s
join jobkit.shown_schedules y on y.name = s.name
left join jobkit.kinds k on k.kind = s.kind
where s.name = $1 and s.removed_at is null
