-- What no committed state may have and this one has, by what it is: how often, and a few examples.
-- Reads whole tables.
select v.what, count(*) as number, (array_agg(v.who order by v.who))[1:5] as examples
from jobkit.violations v
group by v.what order by v.what limit 50
