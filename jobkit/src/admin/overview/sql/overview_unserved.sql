-- Queues and kinds (`versioned`) of jobs that no live worker serves, except in paused queues: among
-- the first 50 ready jobs of each lane of 100 queues, by the primary key of `ready`, and the first
-- 1,000 blocked and scheduled ones; `more` if there may be others. $1 how many to return at most
with alive as materialized (
    select * from jobkit.workers w where not w.stopping and w.lease_until > now()
), met (queue, kind, first, number, more) as materialized (
    select q.queue, h.kind, h.first, h.number, h.more
    from jobkit.ready_queues(100) q
    cross join generate_series(-3, 3) as p (priority)
    cross join unnest('{f,t}'::boolean[]) as w (without_permit)
    cross join lateral (
        select e.kind, min(e.id) as first, count(*) as number, sum(count(*)) over () = 50 as more
        from (select r.kind, r.job_id as id from jobkit.ready r where r.queue = q.queue
            and r.priority = p.priority and r.without_permit = w.without_permit
            order by r.job_id limit 50) e
        group by e.kind) h
    union all
    select b.queue, b.kind, min(b.job_id), count(*), sum(count(*)) over () = 1000
    from (select b.queue, b.kind, b.job_id from jobkit.blocked_executions b
        order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit 1000) b
    group by 1, 2
    union all
    select j.queue, j.kind, min(s.job_id), count(*), sum(count(*)) over () = 1000
    from (select s.job_id from jobkit.scheduled s order by s.run_at, s.job_id limit 1000) s
    cross join lateral (select j.queue, jobkit.versioned(j.kind, j.version) as kind
        from jobkit.jobs j where j.id = s.job_id offset 0) j
    group by 1, 2)
select m.queue, m.kind, sum(m.number)::bigint as number, bool_or(m.more) as more,
    (select j.created_at from jobkit.jobs j where j.id = min(m.first)) as since,
    exists (select from jobkit.kinds k where k.kind = jobkit.unversioned(m.kind)) as announced,
    exists (select from alive w, unnest(w.kinds) as n (name)
        where (m.queue = any (w.queues) or m.queue ^@ any (w.prefixes))
            and jobkit.unversioned(n.name) = jobkit.unversioned(m.kind)) as otherwise_known
from met m
where not exists (select from alive w where m.kind = any (w.kinds)
        and (m.queue = any (w.queues) or m.queue ^@ any (w.prefixes)))
    and not exists (select from jobkit.limits p
        where (p.scope, p.name) = ('queue', m.queue) and p.paused_at is not null)
group by 1, 2 order by 1, 2 limit $1
