-- Every violation of an invariant, as (what, job or worker). No committed state has any.
with place as (
    select 'ready' as place, job_id from jobkit.ready
    union all select 'scheduled', job_id from jobkit.scheduled
    union all select 'claimed', unnest(job_ids) from jobkit.claims
)
select 'live job in no place' as what, j.id as who
from jobkit.jobs j where not exists (select from place p where p.job_id = j.id)
union all
select 'live job in ' || count(*) || ' places', p.job_id from place p
group by p.job_id having count(*) > 1
union all
select 'row of an ended job in ' || p.place, p.job_id
from place p where not exists (select from jobkit.jobs j where j.id = p.job_id)
union all
select 'attempts of an ended job', a.job_id
from jobkit.attempts a where not exists (select from jobkit.jobs j where j.id = a.job_id)
union all
select 'ended twice', e.job_id
from (select job_id from jobkit.finished union all select job_id from jobkit.dead_letters) e
group by e.job_id having count(*) > 1
union all
select 'ended and live', e.job_id
from (select job_id from jobkit.finished union all select job_id from jobkit.dead_letters) e
join jobkit.jobs j on j.id = e.job_id
union all
select 'attempts beyond the limit', j.id from jobkit.jobs j where j.attempt >= j.max_attempts
union all
select 'scheduled at another time', s.job_id
from jobkit.scheduled s join jobkit.jobs j on j.id = s.job_id where s.run_at <> j.run_at
union all
select 'ready in another queue, priority or kind', r.job_id
from jobkit.ready r join jobkit.jobs j on j.id = r.job_id
where (r.queue, r.priority, r.kind) is distinct from (j.queue, j.priority, j.kind)
union all
select 'two claims list one job', c.id
from (select unnest(job_ids) as id from jobkit.claims) c group by c.id having count(*) > 1
