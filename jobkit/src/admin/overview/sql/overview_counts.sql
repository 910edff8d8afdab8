-- What waits, runs and is dead; a count that is one more than 10,000 has ended there. What is due
-- at the ends of time is no time to tell.
select now() as at, jobkit.jobs_in_listing('ready') as ready, c.running, w.workers, w.capacity,
    s.scheduled, s.due_soon, s.next_run_at, jobkit.jobs_in_listing('retrying') as retrying,
    jobkit.jobs_in_listing('blocked') as blocked, d.dead, d.dead_lately
from (select count(*) as running from jobkit.claimed_jobs c where not c.waits) c
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
    select count(*) as dead,
        count(*) filter (where d.failed_at > now() - interval '1 hour' and not exists (
            select from jobkit.causes m
            where m.fingerprint = d.fingerprint and m.muted_until > now()
        )) as dead_lately
    from (select d.failed_at, d.fingerprint from jobkit.dead_letters d where d.state = 'open'
        order by d.failed_at desc, d.id desc limit 10001) d
) d
