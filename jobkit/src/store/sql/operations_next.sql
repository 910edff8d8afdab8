-- The oldest open operation, or this one if it is open; and how long it rests: a second at most
-- (`operate`).
-- $1 only this one, null for any
select o.id, case when o.next_at <= clock_timestamp() + interval '1 s'
    then greatest(o.next_at - clock_timestamp(), '0') else '0' end as rests
from jobkit.operations o
where o.ended_at is null and ($1::bigint is null or o.id = $1) order by o.id limit 1
