-- Server settings that decide whether a commit survives, as they are in this session.
select s.name, s.setting from pg_settings s
where s.name in ('autovacuum', 'fsync', 'full_page_writes', 'synchronous_commit')
order by s.name
