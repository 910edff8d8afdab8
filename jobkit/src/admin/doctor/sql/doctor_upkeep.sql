-- How many unexplained permits the sweeps found; how many days ahead there are partitions of the
-- history (0 without one for tomorrow, null before the first worker has created any); how long ago
-- the last sweep was (null before the first), and how far the clock is behind the newest time that
-- it wrote, both in microseconds; the time zone rules of live workers, each with one such worker.
select s.found, d.ahead, case when s.began_at > '-infinity' then
    (extract(epoch from clock_timestamp() - s.began_at) * 1000000)::bigint end as swept_ago,
    case when isfinite(n.newest) then
        (extract(epoch from n.newest - clock_timestamp()) * 1000000)::bigint end as behind,
    array(
        select w.zones || ' (' || min(w.name) || ')' from jobkit.workers w
        where w.zones is not null and not w.stopping and w.lease_until > now()
        group by w.zones order by w.zones limit 20
    ) as zones
from jobkit.sweeps s
cross join (
    select case when bool_or(d.day = t.today + 1) then max(d.day) - t.today
        when count(d.day) > 0 then 0 end as ahead
    from (select (now() at time zone 'UTC')::date as today) t
    left join jobkit.finished_days d on true
    group by t.today
) d
cross join lateral (
    select greatest(
        nullif(s.began_at, '-infinity'),
        (select max(w.heartbeat_at) from jobkit.workers w),
        (select max(s.last_at) from jobkit.schedules s),
        (select j.created_at from jobkit.jobs j order by j.id desc limit 1),
        (select a.at from jobkit.audit a order by a.id desc limit 1)
    ) as newest
) n
