-- The settings that throughput depends on, as they are in this session.
select s.name, current_setting(s.name) from pg_settings s
where s.name in ('fsync', 'full_page_writes', 'max_wal_size', 'server_version', 'shared_buffers',
    'synchronous_commit', 'synchronous_standby_names', 'wal_level')
order by s.name
