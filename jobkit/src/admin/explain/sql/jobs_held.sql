-- explain: what holds back a queue or a kind, or everything: a pause, or a limit or a rate that
-- allows no job now. (A paused queue is told of elsewhere.)
-- $1 queue, $2 kind
select b.scope, b.name, b.paused_at as since, b.paused_by as actor, b.reason, b.running_limit,
    b.rate_count, b.rate_burst,
    (extract(epoch from b.rate_interval) * 1000000)::bigint as rate_interval,
    case when b.running_limit is not null then jobkit.running_of(b.scope, b.name) end as running
from jobkit.brakes b
cross join lateral jobkit.brake_room(b) r
where b.name = case b.scope when 'queue' then $1 when 'kind' then $2 else '' end
    and (b.paused_at is not null or r.room < 1)
order by b.paused_at is null, b.scope
