-- The callbacks of a batch, and where each of these jobs is.
-- $1 the batch
select c.role, c.job_id, s.kind, s.state, s.outcome
from jobkit.batches b
cross join lateral (
    values (1, 'then', b.then_job), (2, 'if_all', b.if_all_job), (3, 'else', b.else_job)
) as c (nth, role, job_id)
left join lateral (
    select j.kind, j.state, null as outcome from jobkit.listed_jobs j where j.id = c.job_id
    union all
    select f.kind, 'finished', f.outcome from jobkit.finished f where f.job_id = c.job_id
    union all
    select d.kind, 'dead', null from jobkit.dead_letters d where d.job_id = c.job_id
    limit 1
) s on true
where b.id = $1 and c.job_id is not null
order by c.nth
