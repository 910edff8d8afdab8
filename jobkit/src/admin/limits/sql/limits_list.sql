-- What is limited or paused, 500 at most, but for single keys: by scope, then name. How many run is
-- counted where that is limited.
-- $1 scopes, $2 name (null: any), $3 only what is paused
select l.*, case when l.running is not null and l.scope <> 'group'
    then jobkit.running_of(l.scope, l.name) end as runs
from (
    select n.scope, n.name, null as key, b.running_limit as running,
        case when b.running_limit is not null then 'operator' end as running_by,
        (extract(epoch from b.rate_interval / b.rate_count) * 1000000)::bigint as every,
        b.rate_burst as burst, case when b.rate_count is not null then 'operator' end as rate_by,
        coalesce(w.override, w.announced) as waiting,
        case when w.override is not null then 'operator' when w.queue is not null then 'code' end
            as waiting_by,
        coalesce(b.paused_at, q.paused_at) as since, null::timestamptz as until,
        coalesce(b.paused_by, q.paused_by) as actor, coalesce(b.reason, q.reason) as reason,
        w.waiting as waits, w.full_since
    from (
        select b.scope, b.name from jobkit.brakes b
        union select 'queue', q.name from jobkit.queues q where q.paused_at is not null
        union select 'queue', w.queue from jobkit.bounds w
    ) n
    left join jobkit.brakes b on b.scope = n.scope and b.name = n.name
    left join jobkit.queues q on n.scope = 'queue' and q.name = n.name and q.paused_at is not null
    left join jobkit.bounds w on n.scope = 'queue' and w.queue = n.name
    union all
    select case when g.limiter then 'limiter' else 'group' end, g.name, null,
        case when not g.limiter then coalesce(g.override_limit, g.default_limit) end,
        case when g.limiter then null when g.override_limit is null then 'code'
            else 'operator' end,
        (extract(epoch from coalesce(g.override_rate, g.default_rate)) * 1000000)::bigint,
        coalesce(g.override_burst, g.default_burst),
        case when g.override_rate is not null then 'operator'
            when g.default_rate is not null then 'code' end,
        null, null, null, null, null, null, null, null
    from jobkit.concurrency_groups g
) l
where l.scope = any ($1) and ($2::text is null or l.name = $2) and (not $3 or l.since is not null)
order by array_position(array['all', 'queue', 'kind', 'group', 'limiter'], l.scope),
    l.name collate "C" limit 500
