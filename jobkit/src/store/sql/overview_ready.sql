-- How long the ready job has been due that was due first, in microseconds, of queues that are not
-- paused; and the queues in which one that a live worker serves has been due for long, the latest
-- first, 20 at most, with what live workers can run of them at once and how much of that is taken
-- (of the first 10,000 running jobs of all). Of the first 20 of each lane of 500 queues, by the
-- primary keys of `ready` and `jobs`. A job with a permit is due since it has that.
-- $1 how long that is
with heads as materialized (
    select q.queue, h.kind, min(j.due) as due
    from jobkit.ready_queues(500) q
    cross join generate_series(-3, 3) as p (priority)
    cross join unnest('{f,t}'::boolean[]) as w (without_permit)
    cross join lateral (
        select r.job_id, r.kind from jobkit.ready r
        where r.queue = q.queue and r.priority = p.priority and r.without_permit = w.without_permit
        order by r.job_id limit 20
    ) h
    cross join lateral (
        select greatest(j.run_at, j.created_at, (
            select m.since from jobkit.permits m where m.job_id = h.job_id and not w.without_permit
        )) as due
        from jobkit.jobs j where j.id = h.job_id offset 0
    ) j
    where not exists (select from jobkit.queues s where s.name = q.queue and s.paused_at is not null)
    group by q.queue, h.kind
), late as materialized (
    select h.queue, min(h.due) as due from heads h
    where h.due < now() - $1::interval and exists (
        select from jobkit.workers w
        where h.queue = any (w.queues) and h.kind = any (w.kinds) and not w.stopping
            and w.lease_until > now()
    )
    group by h.queue order by min(h.due), h.queue limit 20
), running as materialized (
    select j.queue, count(*) as number
    from (
        select unnest(c.job_ids) as id from jobkit.claims c
        where exists (select from late) limit 10001
    ) c
    cross join lateral (select j.queue from jobkit.jobs j where j.id = c.id offset 0) j
    group by j.queue
)
select (extract(epoch from now() - o.due) * 1000000)::bigint as oldest, l.queue,
    (extract(epoch from now() - l.due) * 1000000)::bigint as age, (
        select coalesce(sum(w.slots[array_position(w.queues, l.queue)]), 0)
        from jobkit.workers w
        where l.queue = any (w.queues) and not w.stopping and w.lease_until > now()
    ) as slots, coalesce((select r.number from running r where r.queue = l.queue), 0) as busy,
    coalesce((select sum(r.number) from running r), 0) > 10000 as more
from (select min(h.due) as due from heads h) o
left join late l on true
order by l.due, l.queue
