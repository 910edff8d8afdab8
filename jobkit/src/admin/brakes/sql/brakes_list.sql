-- What is held back, 500 at most: by scope, then name. Of what has a limit, how many run.
select coalesce(b.scope, 'queue') as scope, coalesce(b.name, q.name) as name,
    coalesce(b.paused_at, q.paused_at) as since, coalesce(b.paused_by, q.paused_by) as actor,
    coalesce(b.reason, q.reason) as reason, b.running_limit, b.rate_count, b.rate_burst,
    (extract(epoch from b.rate_interval) * 1000000)::bigint as rate_interval,
    case when b.running_limit is not null then jobkit.running_of(b.scope, b.name) end as running
from jobkit.brakes b
full join (
    select q.* from jobkit.queues q where q.paused_at is not null
) q on b.scope = 'queue' and b.name = q.name
order by 1, 2 limit 500
