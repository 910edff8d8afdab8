-- What waits, runs and is dead; a count that is one more than 10,000 has ended there. What is due
-- at the ends of time is no time to tell.
select now() as at, (
    select count(*) from (select from jobkit.ready r
        order by r.queue, r.priority, r.without_permit, r.job_id limit 10001) r
) as ready, (
    select coalesce(sum(cardinality(c.job_ids)), 0) from jobkit.claims c
) as running, (
    select coalesce(sum(s.slots), 0) from jobkit.workers w cross join unnest(w.slots) as s (slots)
    where not w.stopping and w.lease_until > now()
) as capacity, (
    select count(*) from (select from jobkit.scheduled s
        order by s.run_at, s.job_id limit 10001) s
) as scheduled, (
    select count(*) from (
        select from jobkit.scheduled s where s.run_at <= now() + interval '1 hour'
        order by s.run_at, s.job_id limit 10001
    ) s
) as due_soon, (
    select min(s.run_at) from jobkit.scheduled s where s.run_at < 'infinity'
) as next_run_at, (
    select count(*)
    from (
        select s.job_id from jobkit.scheduled s order by s.run_at, s.job_id limit 10000
    ) s
    cross join lateral (select j.attempt from jobkit.jobs j where j.id = s.job_id offset 0) j
    where j.attempt > 0
) as retrying, (
    select count(*) from (select from jobkit.blocked_executions b
        order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit 10001) b
) as blocked, (
    select count(*) from (select from jobkit.dead_letters d where d.state = 'open'
        order by d.failed_at desc, d.id desc limit 10001) d
) as dead, (
    select count(*) from (select from jobkit.dead_letters d
        where d.state = 'open' and d.failed_at > now() - interval '1 hour'
        order by d.failed_at desc, d.id desc limit 10001) d
) as dead_lately
