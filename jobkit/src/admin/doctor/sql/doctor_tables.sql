-- The largest 100 of our tables: the server's estimates of live and dead rows, and bytes including
-- indexes.
select t.relname::text as name, t.n_live_tup as live, t.n_dead_tup as dead,
    coalesce(pg_total_relation_size(t.relid), 0) as bytes
from pg_stat_user_tables t
where t.schemaname = 'jobkit'
order by 4 desc, 1 limit 100
