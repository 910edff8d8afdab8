-- The oldest operation that is open, or this one if it is; and how long it rests.
-- $1 only this one, null for any
select o.id, greatest(o.next_at - clock_timestamp(), '0') as rests
from jobkit.operations o
where o.ended_at is null and ($1::bigint is null or o.id = $1) order by o.id limit 1
