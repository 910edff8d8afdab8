-- Sessions of this database whose commits have waited for a synchronous standby for five seconds,
-- how long the longest has in microseconds, and which standbys the server waits for. Nothing where
-- there is none. What others wait for is shown to a role with pg_read_all_stats alone.
select s.sessions, (extract(epoch from s.longest) * 1000000)::bigint as longest,
    current_setting('synchronous_standby_names') as names
from (
    select count(*) as sessions, max(clock_timestamp() - a.query_start) as longest
    from pg_stat_activity a
    where a.datname = current_database() and a.wait_event = 'SyncRep'
        and a.query_start < clock_timestamp() - interval '5 s'
) s
where s.sessions > 0
