-- How many jobs each listing has, as far as 10,001 of its index: more than 10,000 are not told
-- apart. Of jobs that have failed before, those that wait for another attempt count.
select 'live' as listing, count(*) as number, count(*) as looked_at
from (select from jobkit.jobs j limit 10001) l
union all
select 'ready', count(*), count(*) from (select from jobkit.ready r limit 10001) l
union all
select 'scheduled', count(*), count(*) from (select from jobkit.scheduled s limit 10001) l
union all
select 'retrying', count(s.job_id), count(*)
from (
    select j.id, j.run_at from jobkit.jobs j where j.attempt > 0
    order by j.run_at, j.id limit 10001
) l
left join lateral (
    select s.job_id from jobkit.scheduled s where s.run_at = l.run_at and s.job_id = l.id offset 0
) s on true
union all
select 'running', coalesce(sum(cardinality(c.job_ids)), 0), 0 from jobkit.claims c
union all
select 'blocked', count(*), count(*) from (select from jobkit.blocked_executions b limit 10001) l
union all
select 'finished', count(*), count(*) from (select from jobkit.finished f limit 10001) l
union all
select 'discarded', count(*), count(*)
from (select from jobkit.finished f where f.outcome = 'discard' limit 10001) l
union all
select 'cancelled', count(*), count(*)
from (select from jobkit.finished f where f.outcome = 'cancel' limit 10001) l
