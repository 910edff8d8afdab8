-- How many jobs wait, run and are dead; counting stops at 10,001. Due times that never come are not
-- reported. `ended_at` is the last time at which a worker is known to have been alive.
with alive as materialized (
    select w.id, w.stopping, w.slots from jobkit.workers w where w.lease_until > now()
)
select now() as at, jobkit.jobs_in_listing('ready') as ready, c.*, w.workers, w.capacity,
    s.scheduled, s.due_soon, s.next_run_at, jobkit.jobs_in_listing('retrying') as retrying,
    jobkit.jobs_in_listing('blocked') as blocked, d.*, (
        select count(*) from (select from jobkit.schedules s where s.removed_at is null
            and s.paused_at is null and s.next_at is not null limit 10001) s
    ) as schedules, (select count(*) from (
        select from jobkit.batches b where b.ended_at is null limit 10001) b) as open_batches, (
        select count(*) from (select from jobkit.batch_tallies t order by t.id limit 10001) t
    ) as batch_tallies, exists (select from jobkit.kinds) as announced, greatest('epoch',
        (select max(l.lost_at) from jobkit.lost_workers l),
        (select max(l.stopped_at) from jobkit.stopped_workers l),
        (select max(case when w.lease_until > now() then w.started_at else w.lease_until end)
            from jobkit.workers w)
    ) as ended_at
from (
    select count(*) filter (where not a.stopping) as running,
        count(*) filter (where a.stopping) as stopping, count(*) filter (where a.id is null) as gone
    from jobkit.claimed_jobs c left join alive a on a.id = c.worker_id where not c.waits
) c
cross join (
    select count(*) as workers, coalesce(sum(s.slots), 0)::bigint as capacity from alive a
    cross join lateral (select sum(s.slots) as slots from unnest(a.slots) as s (slots)) s
    where not a.stopping
) w
cross join (select count(*) as scheduled,
        count(*) filter (where s.run_at <= now() + interval '1 hour') as due_soon,
        min(s.run_at) filter (where s.run_at < '9999-12-31 00:00Z') as next_run_at
    from (select s.run_at from jobkit.scheduled s order by s.run_at, s.job_id limit 10001) s) s
cross join (select count(*) as dead, count(*) filter (where d.lately) as dead_lately,
        max(d.failed_at) filter (where d.lately) as died_at
    from (select d.failed_at, d.failed_at > now() - interval '1 hour' and not exists (
                select from jobkit.causes m
                where m.fingerprint = d.fingerprint and m.muted_until > now()) as lately
        from jobkit.dead_letters d where d.state = 'open'
        order by d.failed_at desc, d.id desc limit 10001) d) d
