-- explain: what is ahead of a waiting job. Every count stops at 10,000, and at most ten holders of
-- permits are named.
-- $1 job, $2 queue, $3 priority, $4 whether it is ready without a permit (null: not ready),
-- $5 kind (`versioned`), $6 group, $7 key
select (
    select count(*) from (
        select from jobkit.ready r
        where r.queue = $2 and (r.priority, r.without_permit, r.job_id) < ($3, $4, $1)
        order by r.priority, r.without_permit, r.job_id limit 10000
    ) a
) as ahead, (
    select count(*) from (
        select from jobkit.workers w
        join jobkit.claimed_jobs c on c.worker_id = w.id and not c.waits
        cross join lateral (select j.queue from jobkit.jobs j where j.id = c.job_id offset 0) j
        where ($2 = any (w.queues) or $2 ^@ any (w.prefixes)) and $5 = any (w.kinds)
            and not w.stopping and w.lease_until > clock_timestamp() and j.queue = $2 limit 10000
    ) a
) as running, b.place, b.blocked,
    coalesce(s.override_limit, g.running, g.code_running, 1) as effective,
    coalesce(s.taken, 0) as taken, array(
        select p.job_id from jobkit.permits p
        where p.concurrency_group = $6 and p.concurrency_key = $7 order by p.job_id limit 10
    ) as holders,
    s.rate, s.burst, s.paused_until,
    case when s.due_at > clock_timestamp() then s.due_at - clock_timestamp() end as next_in
from (
    select count(*) filter (where (f.priority, f.job_id) <= ($3, $1)) as place, count(*) as blocked
    from (
        select b.priority, b.job_id from jobkit.blocked_executions b
        where b.concurrency_group = $6 and b.concurrency_key = $7
        order by b.priority, b.job_id limit 10000
    ) f
) b
left join jobkit.key_limits s on s.concurrency_group = $6 and s.concurrency_key = $7
left join jobkit.limits g on g.scope = 'group' and g.name = $6
