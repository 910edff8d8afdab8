-- How many jobs each listing has, as far as 10,001 of its index: more than 10,000 are not told
-- apart.
select 'live' as listing, count(*) as number
from (select from jobkit.jobs j limit 10001) l
union all
select 'ready', count(*) from (select from jobkit.ready r limit 10001) l
union all
select 'scheduled', count(*) from (select from jobkit.scheduled s limit 10001) l
union all
select 'retrying', count(*)
from (select from jobkit.scheduled s where s.retrying order by s.run_at, s.job_id limit 10001) l
union all
select 'running', coalesce(sum(cardinality(c.job_ids)), 0) from jobkit.claims c
union all
select 'blocked', count(*) from (select from jobkit.blocked_executions b limit 10001) l
union all
select 'finished', count(*) from (select from jobkit.finished f limit 10001) l
union all
select 'discarded', count(*)
from (select from jobkit.finished f where f.outcome = 'discard' limit 10001) l
union all
select 'cancelled', count(*)
from (select from jobkit.finished f where f.outcome = 'cancel' limit 10001) l
