-- The oldest open operation: how long ago, in microseconds, it made progress, or one of the 20
-- before it ended: until then it was not its turn.
select o.id, o.verb, (extract(epoch from now() - greatest(
        coalesce(o.stepped_at, o.created_at),
        (
            select max(b.ended_at) from (
                select b.ended_at from jobkit.operations b where b.id < o.id
                order by b.id desc limit 20
            ) b
        )
    )) * 1000000)::bigint as age
from jobkit.operations o where o.state in ('pending', 'running') order by o.id limit 1
