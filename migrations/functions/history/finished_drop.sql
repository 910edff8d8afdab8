-- finished_drop: removes an expired day for a worker whose role may not. A function cannot detach
-- concurrently, so this waits briefly for readers, with every finish behind it.
create or replace function jobkit.finished_drop(p_day date) returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
begin
    if p_day < (now() at time zone 'UTC')::date
        and p_day < (select max(d.day) from jobkit.finished_days d)
    then
        execute format('drop table if exists jobkit.%I',
            'finished_' || to_char(p_day, 'YYYYMMDD'));
    end if;
end
$$;
-- Roles with only USAGE of the schema remove nothing.
revoke all on function jobkit.finished_drop from public;
