-- How long until there is something to do for a worker of these queues; null if there is nothing,
-- or only at an infinite time. Jobs in a paused queue or of a paused kind do not count, nor do jobs
-- that other workers are running.
-- $1 queues, $2 prefixes of the names of further queues
select case when n.at < 'infinity' then greatest(n.at - clock_timestamp(), '0') end as rests
from (select least(
    case when exists (
        select from (
            select q.name from unnest($1::text[]) as q (name)
            union all select m.queue from jobkit.matching_queues($2, '', 500) m
        ) q
        where exists (
                select from jobkit.ready r where r.queue = q.name and not exists (
                    select from jobkit.limits l where l.holds and l.paused_at is not null
                        and l.name = case l.scope when 'queue' then q.name
                            when 'kind' then jobkit.unversioned(r.kind) else '' end))
    ) or exists (
        select from jobkit.blocked_executions b where b.queue = any ($1) or b.queue ^@ any ($2)
    ) or exists (
        select from jobkit.claims c where not exists (
            select from jobkit.workers w
            where w.id = c.worker_id and w.lease_until > clock_timestamp())
    ) or exists (
        select from jobkit.operations o where o.ended_at is null
    ) then clock_timestamp() end,
    (select min(s.run_at) from jobkit.scheduled s),
    (select min(s.next_at) from jobkit.schedules s where s.removed_at is null),
    (select min(d.replay_at) from jobkit.dead_letters d where d.state = 'open')
) as at) n
