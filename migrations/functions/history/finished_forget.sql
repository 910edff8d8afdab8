-- finished_forget: removes a day from the list.
create or replace function jobkit.finished_forget(p_day date) returns void
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
    delete from jobkit.finished_days d
    where d.day = p_day and d.day < (now() at time zone 'UTC')::date
$$;
-- Roles with only USAGE of the schema remove nothing.
revoke all on function jobkit.finished_forget from public;
