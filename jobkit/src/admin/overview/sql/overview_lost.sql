-- Workers that were lost within the last hour (of the last 1,000), by name without the process id:
-- how often, the last of them, and since when a worker of that name has been alive again. Leaves
-- out names that have been alive again for this long. The last first, 100 at most.
-- $1 how long
with lost as materialized (
    select regexp_replace(l.name, ':[0-9]+$', '') as name, count(*) as times,
        max(l.lost_at) as lost_at, sum(l.jobs)::bigint as jobs,
        (array_agg(l.id order by l.lost_at desc, l.id))[1] as id,
        max(coalesce(l.heartbeat_at, l.lost_at)) as heard_at
    from (
        select l.* from jobkit.lost_workers l where l.lost_at > now() - interval '1 h'
        order by l.lost_at desc, l.id limit 1000
    ) l
    group by 1
)
select l.id, l.name, l.times, l.lost_at, l.jobs, b.back_at,
    (extract(epoch from now() - l.lost_at) * 1000000)::bigint as ago
from lost l
cross join lateral (
    select max(w.started_at) as back_at from jobkit.workers w
    where regexp_replace(w.name, ':[0-9]+$', '') = l.name and w.started_at >= l.heard_at
        and not w.stopping and w.lease_until > now()
) b
where b.back_at is null or b.back_at > now() - $1::interval
order by l.lost_at desc, l.id limit 100
