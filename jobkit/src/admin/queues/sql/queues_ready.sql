-- The ready jobs of 500 queues by kind, as many of each queue as the number of queues allows, and
-- whether there are more; and how long the oldest of the first 20 jobs of each lane has been due,
-- in microseconds.
with q as materialized (
    select r.queue from jobkit.ready_queues(500) r
), most (number) as (
    select greatest(1000, least(10000, 50000 / greatest(count(*), 1))) from q
)
select q.queue, k.kinds, k.numbers, k.more, (
    select (extract(epoch from now() - min(j.due)) * 1000000)::bigint
    from generate_series(-3, 3) as p (priority)
    cross join unnest('{f,t}'::boolean[]) as w (without_permit)
    cross join lateral (
        select r.job_id from jobkit.ready r where r.queue = q.queue and r.priority = p.priority
            and r.without_permit = w.without_permit order by r.job_id limit 20
    ) h
    cross join lateral (select greatest(j.run_at, j.created_at) as due from jobkit.jobs j
        where j.id = h.job_id offset 0) j
) as age, 0 as retrying, null::timestamptz as next_run_at
from q
cross join most m
cross join lateral (
    select array_agg(k.kind) as kinds, array_agg(least(k.number, m.number)) as numbers,
        coalesce(sum(k.number) > m.number, false) as more
    from (
        select e.kind, count(*) as number
        from (select r.kind from jobkit.ready r where r.queue = q.queue
            order by r.priority, r.without_permit, r.job_id limit m.number + 1) e
        group by e.kind
    ) k
) k
