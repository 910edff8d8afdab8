-- The violations in the current state, by type: how many there are, and a few examples. Reads whole
-- tables.
select v.what, count(*) as number, (array_agg(v.who order by v.who))[1:5] as examples
from jobkit.violations v
group by v.what order by v.what limit 50
