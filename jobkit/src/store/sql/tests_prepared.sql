-- Whether a database is as the start of a worker would leave it, without a lock; whether something
-- in it waits for a time; and the queues of its live jobs, and of those that are ready, that of the
-- oldest first.
-- $1 kinds, $2 days of the history that are to be there, $3 groups, $4 their limits, $5 intervals
-- and $6 bursts of their rates
select not exists (
    select from unnest($1::text[]) as i (kind)
    where not exists (select from jobkit.kinds k where k.kind = i.kind)
) as announced, not exists (
    select from unnest($3::text[], $4::integer[], $5::interval[], $6::integer[])
        as i (name, lim, rate, burst)
    left join jobkit.concurrency_groups g on g.name = i.name
    where (g.default_limit, g.default_rate, g.default_burst, g.limiter)
        is distinct from (i.lim, i.rate, i.burst, false)
) as limited, not exists (
    select from generate_series(0, $2::integer) d
    where not exists (
        select from jobkit.finished_days f where f.day = (now() at time zone 'UTC')::date + d
    )
) as has_days,
    exists (select from jobkit.scheduled) or exists (select from jobkit.due_keys) as waits,
    array(select distinct j.queue from jobkit.jobs j) as queues,
    array(select r.queue from jobkit.ready r group by r.queue order by min(r.job_id)) as ready
