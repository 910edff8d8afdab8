-- Operations, the newest first.
-- $1 only this one, null for any; $2 before this one, null for the beginning; $3 how many at most
select o.id, o.verb, o.filter, o.reason, o.run_at, o.actor, o.idempotency_key, o.state, o.total,
    o.counted, o.done, o.asked as stop_requested, o.skipped, o.error, o.created_at, o.started_at,
    o.ended_at, o.per_second
from jobkit.operations o
where ($1::bigint is null or o.id = $1) and o.id < coalesce($2, 9223372036854775807)
order by o.id desc limit $3
