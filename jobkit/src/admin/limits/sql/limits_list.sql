-- What is limited or paused, except single keys, by scope, then name; 500 at most. Running jobs are
-- counted only where their number is limited.
-- $1 scopes, $2 name (null: any), $3 only what is paused
select l.scope, l.name, null as key, coalesce(l.running, l.code_running) as running,
    case when l.running is not null then 'operator'
        when l.code_running is not null then 'code' end as running_by,
    (extract(epoch from coalesce(l.every, l.code_every)) * 1000000)::bigint as every,
    coalesce(l.burst, l.code_burst) as burst,
    case when l.every is not null then 'operator'
        when l.code_every is not null then 'code' end as rate_by,
    nullif(coalesce(l.waiting, l.code_waiting), 2147483647) as waiting,
    case when l.waiting is not null then 'operator'
        when l.code_waiting is not null then 'code' end as waiting_by,
    l.paused_at as since, null::timestamptz as until, l.paused_by as actor,
    l.pause_reason as reason,
    case when l.scope in ('queue', 'kind') and coalesce(l.running, l.code_running) is not null
        then jobkit.running_of(l.scope, l.name) end as runs,
    b.waiting as waits, b.full_since
from jobkit.limits l
left join jobkit.bounds b on l.scope = 'queue' and b.queue = l.name
where l.scope = any ($1) and ($2::text is null or l.name = $2)
    and (l.paused_at is not null or not $3 and (l.scope in ('group', 'limiter')
        or num_nonnulls(l.running, l.every, l.waiting, l.code_running, l.code_every,
            l.code_waiting) > 0))
order by array_position(array['all', 'queue', 'kind', 'group', 'limiter'], l.scope),
    l.name collate "C" limit 500
