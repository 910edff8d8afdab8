-- A worker that has ended: cleanly, or because its lease lapsed, with how many jobs it held.
-- $1 worker
select l.id, l.name, l.started_at, l.heartbeat_at, l.lost_at as ended_at, false as stopped, l.jobs
from jobkit.lost_workers l where l.id = $1
union all
select s.id, s.name, s.started_at, null, s.stopped_at, true, 0
from jobkit.stopped_workers s where s.id = $1
order by ended_at desc limit 1
