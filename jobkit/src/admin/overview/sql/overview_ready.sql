-- How long the oldest ready job in queues that are not paused has been due, in microseconds; and
-- the queues in which a job that a live worker serves has been due for this long, the latest first,
-- 100 at most, with how many of their jobs live workers can run at once, how many of these slots
-- are taken, and how many jobs stopping or dead workers hold (of the first 10,000 running jobs).
-- $1 how long
with heads as materialized (
    select h.queue, h.kind, min(h.due) as due from jobkit.ready_heads(500, 20) h
    group by h.queue, h.kind
), alive as materialized (
    select * from jobkit.workers w where w.lease_until > now()
), late as materialized (
    select h.queue, min(h.due) as due from heads h
    where h.due < now() - $1::interval and exists (
        select from alive w
        where (h.queue = any (w.queues) or h.queue ^@ any (w.prefixes))
            and h.kind = any (w.kinds) and not w.stopping
    )
    group by h.queue order by min(h.due), h.queue limit 100
), running as materialized (
    select j.queue, count(*) filter (where not w.stopping) as busy,
        count(*) filter (where w.stopping) as stopping,
        count(*) filter (where w.id is null) as gone,
        count(*) as number
    from (
        select c.job_id as id, c.worker_id from jobkit.claimed_jobs c
        where not c.waits and exists (select from late) limit 10001
    ) c
    cross join lateral (select j.queue from jobkit.jobs j where j.id = c.id offset 0) j
    left join alive w on w.id = c.worker_id
    group by j.queue
)
select (extract(epoch from now() - o.due) * 1000000)::bigint as oldest, l.queue,
    (extract(epoch from now() - l.due) * 1000000)::bigint as age, (
        select coalesce(sum(jobkit.slots_for(w.queues, w.slots, l.queue)), 0) from alive w
        where not w.stopping and (l.queue = any (w.queues) or l.queue ^@ any (w.prefixes))
    ) as slots, coalesce(r.busy, 0) as busy, coalesce(r.stopping, 0) as stopping,
    coalesce(r.gone, 0) as gone, (select sum(r.number) > 10000 from running r) is true as more
from (select min(h.due) as due from heads h) o
left join late l on true left join running r on r.queue = l.queue order by l.due, l.queue
