-- What the sweeps found that nothing explains, how many days of history the partitions are ahead
-- (null before the first worker has made any), and how long ago the last sweep was, in
-- microseconds (null before the first).
select s.found, d.ahead, case when s.began_at > '-infinity' then
    (extract(epoch from now() - s.began_at) * 1000000)::bigint end as swept_ago
from jobkit.sweeps s
cross join (
    select max(d.day) - (now() at time zone 'UTC')::date as ahead from jobkit.finished_days d
) d
