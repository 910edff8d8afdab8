-- The scheduled jobs by queue and kind, among the next 10,001 of all; whether there are more; how
-- many of them have used up an attempt, and when the next one is due.
select j.queue, array[j.kind] as kinds, array[count(*)] as numbers,
    sum(count(*)) over () > 10000 as more, null::bigint as age,
    count(*) filter (where s.retrying) as retrying,
    min(s.run_at) filter (where s.run_at < 'infinity') as next_run_at
from (
    select s.run_at, s.job_id, s.retrying from jobkit.scheduled s
    order by s.run_at, s.job_id limit 10001
) s
cross join lateral (
    select j.queue, j.kind from jobkit.jobs j where j.id = s.job_id offset 0
) j
group by j.queue, j.kind
