-- The queues that workers name, that are paused or that limit how many jobs wait, by name: how many
-- jobs of each live workers can run at a time, the pause, and that limit.
-- $1 only these, which may match a pattern of some worker; null for all
select n.name, w.workers, w.capacity, q.paused_at, q.paused_by, q.pause_reason as reason,
    nullif(coalesce(q.waiting, q.code_waiting), 2147483647) as most_waiting, b.waiting,
    b.full_since
from (
    select u.name from jobkit.workers w cross join unnest(w.queues) as u (name)
    where right(u.name, 1) <> '*' or left(u.name, -1) <> all (w.prefixes)
    union select l.name from jobkit.limits l where l.scope = 'queue' and l.paused_at is not null
    union select b.queue from jobkit.bounds b
    union select u.name from unnest($1::text[]) as u (name)
) n
left join jobkit.limits q on q.scope = 'queue' and q.name = n.name
left join jobkit.bounds b on b.queue = n.name
cross join lateral (
    select count(*) as workers,
        coalesce(sum(jobkit.slots_for(w.queues, w.slots, n.name)), 0) as capacity
    from jobkit.workers w
    where (n.name = any (w.queues) or n.name ^@ any (w.prefixes))
        and not w.stopping and w.lease_until > now()
) w
where $1::text[] is null or n.name = any ($1)
order by n.name collate "C" limit 500
