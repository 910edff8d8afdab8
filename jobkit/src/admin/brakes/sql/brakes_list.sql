-- What is held back, 500 at most: by scope, then name. Of what has a limit, how many run.
select l.scope, l.name, l.paused_at as since, l.paused_by as actor, l.pause_reason as reason,
    t.running as running_limit, case when t.every is not null then 1 end as rate_count,
    t.burst as rate_burst, (extract(epoch from t.every) * 1000000)::bigint as rate_interval,
    case when t.running is not null then jobkit.running_of(l.scope, l.name) end as running
from jobkit.limits l
left join jobkit.turn_limits t on t.scope = l.scope and t.name = l.name
where l.holds
order by 1, 2 limit 500
