-- The running jobs by queue and kind, among the first 10,001 of all; whether there are more, and
-- how long ago in microseconds the first was claimed. Counted separately for live workers
-- (`running`), workers that are stopping (`stopping`), and workers that are gone.
select j.queue, array[j.kind] as kinds, array[count(*)] as numbers,
    sum(count(*)) over () > 10000 as more,
    (extract(epoch from now() - min(c.claimed_at)) * 1000000)::bigint as age, 0 as retrying,
    null::timestamptz as next_run_at, c.hands
from (
    select c.job_id as id, c.claimed_at,
        case when w.id is null then 'gone' when w.stopping then 'stopping' else 'running' end
            as hands
    from jobkit.claimed_jobs c
    left join jobkit.workers w on w.id = c.worker_id and w.lease_until > now()
    where not c.waits limit 10001
) c
cross join lateral (select j.queue, j.kind from jobkit.jobs j where j.id = c.id offset 0) j
group by j.queue, j.kind, c.hands
