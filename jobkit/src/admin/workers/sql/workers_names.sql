-- The names of those of these workers that are alive or ended within the last day.
-- $1 workers
select w.id, w.name from jobkit.workers w where w.id = any ($1)
union
select l.id, l.name from jobkit.lost_workers l where l.id = any ($1)
union
select s.id, s.name from jobkit.stopped_workers s where s.id = any ($1)
