-- explain: what holds back a queue or a kind, or everything: a pause, or a limit or a rate that
-- currently allows no job. (A paused queue is reported elsewhere.)
-- $1 queue, $2 kind
select l.scope, l.name, null as key, t.running,
    case when l.running is not null then 'operator' when t.running is not null then 'code' end
        as running_by,
    (extract(epoch from t.every) * 1000000)::bigint as every, t.burst,
    case when l.every is not null then 'operator' when t.every is not null then 'code' end
        as rate_by,
    null::integer as waiting, null as waiting_by,
    case when l.scope <> 'queue' then l.paused_at end as since, null::timestamptz as until,
    l.paused_by as actor, l.pause_reason as reason,
    case when t.running is not null then jobkit.running_of(l.scope, l.name) end as runs,
    null::integer as waits, null::timestamptz as full_since
from jobkit.limits l
left join jobkit.turn_limits t on t.scope = l.scope and t.name = l.name
cross join lateral jobkit.turn_room(l.scope, l.name, t.running, t.every, t.burst, t.tat) r
where l.holds and l.name = case l.scope when 'queue' then $1 when 'kind' then $2 else '' end
    and (l.scope <> 'queue' and l.paused_at is not null or r.room < 1)
order by l.paused_at is null, l.scope
