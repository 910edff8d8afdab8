-- finished_forget: takes a removed day off the list.
create or replace function jobkit.finished_forget(p_day date) returns void
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
    delete from jobkit.finished_days d
    where d.day = p_day and d.day < (now() at time zone 'UTC')::date
$$;
-- Whoever has no more than USAGE of the schema removes nothing.
revoke all on function jobkit.finished_forget from public;
