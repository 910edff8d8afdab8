-- Keys with their own limit or a pause, 500 at most, among the first 10,000 in use, by group and
-- key; or one key in use.
-- $1 group (null: any), $2 key (null: any with its own limit or a pause), $3 only what is paused
select 'key' as scope, s.concurrency_group as name, s.concurrency_key as key,
    case when not s.limiter then s.effective_limit end as running,
    case when s.limiter then null
        when num_nonnulls(s.override_limit, g.running) > 0 then 'operator'
        else 'code' end as running_by,
    (extract(epoch from s.rate) * 1000000)::bigint as every, s.burst,
    case when num_nonnulls(s.override_rate, g.every) > 0 then 'operator'
        when g.code_every is not null then 'code' end as rate_by,
    null::integer as waiting, null as waiting_by,
    case when k.paused then s.paused_until - s.paused_for end as since,
    case when k.paused then s.paused_until end as until, null as actor, null as reason,
    case when s.effective_limit < 2147483647 and not s.limiter then s.taken end as runs,
    null::integer as waits, null::timestamptz as full_since
from (
    select k.concurrency_group as grp, k.concurrency_key as key, k.override_limit, k.override_rate,
        coalesce(k.paused_until > clock_timestamp(), false) as paused
    from jobkit.semaphores k
    where ($1::text is null or k.concurrency_group = $1)
        and ($2::text is null or k.concurrency_key = $2)
    order by k.concurrency_group, k.concurrency_key limit 10000
) k
join jobkit.key_limits s on s.concurrency_group = k.grp and s.concurrency_key = k.key
join jobkit.limits g on g.name = s.concurrency_group and g.scope in ('group', 'limiter')
where $2::text is not null or k.paused
    or (not $3 and (k.override_limit is not null or k.override_rate is not null))
order by s.concurrency_group, s.concurrency_key limit 500
