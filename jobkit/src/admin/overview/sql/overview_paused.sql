-- The paused queues with ready jobs, in the order in which they were paused, 100 at most; counts
-- at most 10,001 jobs of each.
select q.name, q.paused_at, q.paused_by, q.pause_reason as reason, r.number
from jobkit.limits q
cross join lateral (
    select count(*) as number from (
        select from jobkit.ready r where r.queue = q.name
        order by r.priority, r.without_permit, r.job_id limit 10001
    ) r
) r
where q.scope = 'queue' and q.paused_at is not null and r.number > 0
order by q.paused_at, q.name limit 100
