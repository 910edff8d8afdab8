-- What waits, runs and is dead; a count that is one more than 10,000 has ended there. What is due
-- at the ends of time is no time to tell.
select now() as at, r.ready, c.running, w.workers, w.capacity, s.scheduled, s.due_soon,
    s.next_run_at, y.retrying, b.blocked, d.dead, d.dead_lately
from (
    select count(*) as ready from (select from jobkit.ready r
        order by r.queue, r.priority, r.without_permit, r.job_id limit 10001) r
) r
cross join (select coalesce(sum(cardinality(c.job_ids)), 0) as running from jobkit.claims c) c
cross join (
    select count(*) as workers, coalesce(sum(s.slots), 0)::bigint as capacity
    from jobkit.workers w
    cross join lateral (select sum(s.slots) as slots from unnest(w.slots) as s (slots)) s
    where not w.stopping and w.lease_until > now()
) w
cross join (
    select count(*) as scheduled,
        count(*) filter (where s.run_at <= now() + interval '1 hour') as due_soon,
        min(s.run_at) filter (where s.run_at < 'infinity') as next_run_at
    from (select s.run_at from jobkit.scheduled s order by s.run_at, s.job_id limit 10001) s
) s
cross join (
    select count(*) as retrying
    from (select from jobkit.scheduled s where s.retrying order by s.run_at, s.job_id
        limit 10001) s
) y
cross join (
    select count(*) as blocked from (select from jobkit.blocked_executions b
        order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit 10001) b
) b
cross join (
    select count(*) as dead,
        count(*) filter (where d.failed_at > now() - interval '1 hour') as dead_lately
    from (select d.failed_at from jobkit.dead_letters d where d.state = 'open'
        order by d.failed_at desc, d.id desc limit 10001) d
) d
