-- The largest 100 of our tables: rows and dead row versions as far as the server counted them,
-- bytes with their indexes.
select t.relname::text as name, t.n_live_tup as live, t.n_dead_tup as dead,
    coalesce(pg_total_relation_size(t.relid), 0) as bytes
from pg_stat_user_tables t
where t.schemaname = 'jobkit'
order by 4 desc, 1 limit 100
