-- finished_expired: the statements that remove each partition whose day has passed; they must run
-- one by one, outside a transaction. The newest partition stays, so that a finish always finds one.
-- A day is unlisted first, so that no expiry is moved to it. A detach that was interrupted comes
-- first, since no other can begin before it is completed; then by age.
-- A role that does not own the partitions gets calls of `finished_drop` instead.
create or replace function jobkit.finished_expired()
returns table (day date, detach text, remove text)
language sql
set search_path = pg_catalog, pg_temp
as $$
    select d.day,
        case when i.inhrelid is null or not pg_has_role(c.relowner, 'usage') then null
            else format('alter table jobkit.finished detach partition jobkit.%I %s', c.relname,
                case when i.inhdetachpending then 'finalize' else 'concurrently' end) end,
        case when pg_has_role(c.relowner, 'usage') then format('drop table jobkit.%I', c.relname)
            else format('select jobkit.finished_drop(%L)', right(c.relname::text, 8)) end
    from pg_class c
    cross join lateral (select to_date(right(c.relname::text, 8), 'YYYYMMDD') as day) d
    left join pg_inherits i on i.inhrelid = c.oid
    where c.relnamespace = 'jobkit'::regnamespace and c.relkind = 'r'
        and c.relname ~ '^finished_[0-9]{8}$'
        and d.day < (now() at time zone 'UTC')::date
        and d.day < (select max(f.day) from jobkit.finished_days f)
    order by i.inhdetachpending desc nulls last, 1
$$;
