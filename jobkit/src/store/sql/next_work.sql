-- How long until there is something to do for a worker of some queues; null when nobody knows of
-- anything. What waits in a paused queue is nothing to do, and what others run is theirs.
-- $1 queues, $2 how the names of others begin
select case when n.at is not null then greatest(n.at - clock_timestamp(), '0') end as rests
from (select least(
    case when exists (
        select from (
            select q.name from unnest($1::text[]) as q (name)
            where exists (select from jobkit.ready r where r.queue = q.name)
            union all select m.queue from jobkit.matching_queues($2, '', 500) m
        ) q
        where not exists (
                select from jobkit.queues p where p.name = q.name and p.paused_at is not null)
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
