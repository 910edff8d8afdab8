-- A page of semaphores, in the order of group and key; counts at most 10,000 blocked jobs of each.
-- $1 group and $2 key after which it begins, $3 how many at most; $4 group, $5 key: null for any;
-- $6 only those with no permit left, $7 only those with blocked jobs
select s.concurrency_group, s.concurrency_key, s.effective_limit as effective, s.override_limit,
    s.taken, b.blocked, b.oldest, s.rate, s.burst, s.override_rate is not null as has_own_rate,
    case when s.paused_until > clock_timestamp() then s.paused_until end as paused_until,
    case
        when not s.limiter then case when s.crowded and b.blocked > 0 then s.due_at end
        when s.tat - s.rate * (s.burst - 1) > clock_timestamp()
            then s.tat - s.rate * (s.burst - 1)
    end as next_at
from jobkit.key_limits s
cross join lateral (
    select count(*) as blocked, min(f.since) as oldest
    from (
        select b.since from jobkit.blocked_executions b
        where b.concurrency_group = s.concurrency_group and b.concurrency_key = s.concurrency_key
        order by b.priority, b.job_id limit 10000
    ) f
) b
where (s.concurrency_group, s.concurrency_key) > ($1, $2)
    and ($4::text is null or s.concurrency_group = $4)
    and ($5::text is null or s.concurrency_key = $5)
    and (not $6 or s.taken >= s.effective_limit)
    and (not $7 or s.crowded) and (not $7 or b.blocked > 0)
order by s.concurrency_group, s.concurrency_key limit $3
