-- The blocked jobs by queue and kind, among the first 10,001 of all; whether there are more; and
-- the longest wait of each, in microseconds.
select b.queue, array[b.kind] as kinds, array[count(*)] as numbers,
    sum(count(*)) over () > 10000 as more,
    (extract(epoch from now() - min(b.since)) * 1000000)::bigint as age,
    0 as retrying, null::timestamptz as next_run_at
from (
    select b.queue, b.kind, b.since from jobkit.blocked_executions b
    order by b.concurrency_group, b.concurrency_key, b.priority, b.job_id limit 10001
) b
group by b.queue, b.kind
