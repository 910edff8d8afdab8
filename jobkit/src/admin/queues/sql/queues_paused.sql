-- The paused queues, in the order of their names.
select q.name, q.paused_at, q.paused_by, q.reason
from jobkit.queues q where q.paused_at is not null order by q.name
