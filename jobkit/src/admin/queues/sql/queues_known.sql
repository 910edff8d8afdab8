-- The queues that workers serve or that are paused, by name: what live workers can run of each at
-- a time, and the pause.
select n.name, w.workers, w.capacity, q.paused_at, q.paused_by, q.reason
from (
    select unnest(w.queues) as name from jobkit.workers w
    union select q.name from jobkit.queues q where q.paused_at is not null
) n
left join jobkit.queues q on q.name = n.name and q.paused_at is not null
cross join lateral (
    select count(*) as workers,
        coalesce(sum(w.slots[array_position(w.queues, n.name)]), 0) as capacity
    from jobkit.workers w
    where n.name = any (w.queues) and not w.stopping and w.lease_until > now()
) w
order by n.name collate "C" limit 500
