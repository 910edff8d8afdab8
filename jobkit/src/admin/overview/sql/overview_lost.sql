-- Workers that were lost within the last hour, the last first, 20 at most.
select l.id, l.name, l.lost_at, l.jobs from jobkit.lost_workers l
where l.lost_at > now() - interval '1 h' order by l.lost_at desc, l.id limit 20
