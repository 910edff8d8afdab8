-- explain: what holds back a queue or a kind, or everything: a pause, or a limit or a rate that
-- allows no job now. (A paused queue is told of elsewhere.)
-- $1 queue, $2 kind
select b.scope, b.name, null as key, b.running_limit as running,
    case when b.running_limit is not null then 'operator' end as running_by,
    (extract(epoch from b.rate_interval / b.rate_count) * 1000000)::bigint as every,
    b.rate_burst as burst, case when b.rate_count is not null then 'operator' end as rate_by,
    null::integer as waiting, null as waiting_by, b.paused_at as since, null::timestamptz as until,
    b.paused_by as actor, b.reason,
    case when b.running_limit is not null then jobkit.running_of(b.scope, b.name) end as runs,
    null::integer as waits, null::timestamptz as full_since
from jobkit.brakes b
cross join lateral jobkit.brake_room(b) r
where b.name = case b.scope when 'queue' then $1 when 'kind' then $2 else '' end
    and (b.paused_at is not null or r.room < 1)
order by b.paused_at is null, b.scope
