-- Queues and kinds of ready jobs that no live worker serves, of the first 50 jobs of each lane of
-- 100 queues, by the primary key of `ready`; `more` when there may be others. A queue that is
-- paused is not served on purpose.
-- $1 how many of them at most
select q.queue, h.kind, sum(h.number)::bigint as number, bool_or(h.full) as more,
    exists (select from jobkit.kinds k where k.kind = h.kind) as announced
from jobkit.ready_queues(100) q
cross join generate_series(-3, 3) as p (priority)
cross join unnest('{f,t}'::boolean[]) as w (without_permit)
cross join lateral (
    select e.kind, count(*) as number, sum(count(*)) over () = 50 as full
    from (
        select r.kind from jobkit.ready r
        where r.queue = q.queue and r.priority = p.priority
            and r.without_permit = w.without_permit
        order by r.job_id limit 50
    ) e
    group by e.kind
) h
where not exists (
        select from jobkit.workers w
        where q.queue = any (w.queues) and h.kind = any (w.kinds) and not w.stopping
            and w.lease_until > now()
    )
    and not exists (select from jobkit.queues p where p.name = q.queue and p.paused_at is not null)
group by q.queue, h.kind order by q.queue, h.kind limit $1
