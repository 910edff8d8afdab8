-- The running jobs by queue and kind, as far as they are among the first 10,001 of all; and whether
-- there are more.
select j.queue, array[j.kind] as kinds, array[count(*)] as numbers,
    sum(count(*)) over () > 10000 as more, null::bigint as age, 0 as retrying,
    null::timestamptz as next_run_at
from (select c.job_id as id from jobkit.claimed_jobs c where not c.waits limit 10001) c
cross join lateral (select j.queue, j.kind from jobkit.jobs j where j.id = c.id offset 0) j
group by j.queue, j.kind
