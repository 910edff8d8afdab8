-- How many keys are paused, and how many were looked at: keys with a due time, the latest first,
-- 10,001 at most. (A paused key is due when its pause ends.) Each semaphore is found by its key,
-- however many there are.
select count(*) filter (where s.paused) as paused, count(*) as looked_at
from (
    select d.concurrency_group, d.concurrency_key from jobkit.due_keys d
    where d.due_at > clock_timestamp() order by d.due_at desc limit 10001
) d
cross join lateral (
    select s.paused_until > clock_timestamp() as paused from jobkit.semaphores s
    where s.concurrency_group = d.concurrency_group and s.concurrency_key = d.concurrency_key
    limit 1
) s
