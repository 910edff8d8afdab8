-- sweep_note: adds to the count of unexplained finds.
create or replace function jobkit.sweep_note(p_found integer) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
    update jobkit.sweeps set found = found + p_found
$$;
