-- Sessions of this database whose commits have waited for a synchronous standby for five seconds,
-- the longest of these waits in microseconds, and the standbys that the server waits for. No row if
-- there are none. Only a role with pg_read_all_stats sees what other roles wait for.
select s.sessions, (extract(epoch from s.longest) * 1000000)::bigint as longest,
    current_setting('synchronous_standby_names') as names
from (
    select count(*) as sessions, max(clock_timestamp() - a.query_start) as longest
    from pg_stat_activity a
    where a.datname = current_database() and a.wait_event = 'SyncRep'
        and a.query_start < clock_timestamp() - interval '5 s'
) s
where s.sessions > 0
