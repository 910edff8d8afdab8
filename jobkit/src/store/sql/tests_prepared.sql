-- Whether a database is as a worker's start would leave it, checked without locks; whether anything
-- in it waits for a time; and the queues of its live jobs, and those of its ready jobs, the oldest
-- job's first.
-- $1 kinds, $2 days of history that must exist, $3 the limits of their groups, as
-- `announce_limits` reads them
select not exists (
    select from unnest($1::text[]) as i (kind)
    where not exists (select from jobkit.kinds k where k.kind = i.kind)
) as announced, not exists (
    select from jsonb_populate_recordset(null::jobkit.limits, $3::jsonb) i
    left join jobkit.limits l on l.scope = i.scope and l.name = i.name
    where (l.code_running, l.code_every, l.code_burst)
        is distinct from (i.running, i.every, i.burst)
) as limited, not exists (
    select from generate_series(0, $2::integer) d
    where not exists (
        select from jobkit.finished_days f where f.day = (now() at time zone 'UTC')::date + d
    )
) as has_days,
    exists (select from jobkit.scheduled) or exists (select from jobkit.due_keys) as waits,
    array(select distinct j.queue from jobkit.jobs j) as queues,
    array(select r.queue from jobkit.ready r group by r.queue order by min(r.job_id)) as ready
