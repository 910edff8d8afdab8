-- finished_prepare: makes the partitions of `finished` for today and p_days more, and their list
-- true: somebody may have dropped a table, and a restore may have left one that is not listed. One
-- whose removal was cut short is no longer written to: the pruner completes it.
-- CREATE + ATTACH: unlike CREATE … PARTITION OF it waits for no reader and stalls no finish. It
-- runs with its owner's rights, so that a worker's role needs none to create tables.
create function jobkit.finished_prepare(p_days integer) returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
set datestyle = 'ISO'                            -- others name zones by what may mean several
as $$
declare
    v_today constant date := (now() at time zone 'UTC')::date;
    v_day date;
    v_name text;
    v_table regclass;
    v_made integer := 0;
begin
    perform jobkit.require_read_committed();
    lock table jobkit.finished_days in share row exclusive mode;
    delete from jobkit.finished_days f
    where not exists (
        select from pg_inherits i
        where i.inhrelid = to_regclass('jobkit.finished_' || to_char(f.day, 'YYYYMMDD'))
            and not i.inhdetachpending
    );
    for v_day in
        select v_today + d from generate_series(0, least(p_days, 200)) d
        except select f.day from jobkit.finished_days f
        order by 1
    loop
        v_name := 'finished_' || to_char(v_day, 'YYYYMMDD');
        v_table := to_regclass('jobkit.' || v_name);
        continue when exists (
            select from pg_inherits i where i.inhrelid = v_table and i.inhdetachpending
        );
        if v_table is null then
            execute format('create table jobkit.%I (like jobkit.finished including all)', v_name);
            execute format('alter table jobkit.%I set '
                '(autovacuum_vacuum_insert_scale_factor = 0.5)', v_name);
        end if;
        if not exists (select from pg_inherits i where i.inhrelid = v_table) then
            execute format('alter table jobkit.finished attach partition jobkit.%I '
                'for values from (%L) to (%L)', v_name, v_day::timestamp at time zone 'UTC',
                (v_day + 1)::timestamp at time zone 'UTC');
        end if;
        insert into jobkit.finished_days (day) values (v_day);
        v_made := v_made + 1;
    end loop;
    return v_made;
end
$$;

-- finished_expired: for each partition whose day has passed, the statements that remove it: they
-- have to run one by one outside a transaction. The newest partition always stays, so that a
-- finish finds one; a day leaves the list first, so that no expiry is clamped to it.
-- A detach that was cut short comes first, as no other can begin before it is done; then by age.
-- A role that does not own the partitions is given the function below instead.
create function jobkit.finished_expired() returns table (day date, detach text, remove text)
language sql
set search_path = pg_catalog, pg_temp
as $$
    select to_date(right(c.relname::text, 8), 'YYYYMMDD'),
        case when i.inhrelid is null or not pg_has_role(c.relowner, 'usage') then null
            else format('alter table jobkit.finished detach partition jobkit.%I %s', c.relname,
                case when i.inhdetachpending then 'finalize' else 'concurrently' end) end,
        case when pg_has_role(c.relowner, 'usage') then format('drop table jobkit.%I', c.relname)
            else format('select jobkit.finished_drop(%L)', right(c.relname::text, 8)) end
    from pg_class c
    left join pg_inherits i on i.inhrelid = c.oid
    where c.relnamespace = 'jobkit'::regnamespace and c.relkind = 'r'
        and c.relname ~ '^finished_[0-9]{8}$'
        and to_date(right(c.relname::text, 8), 'YYYYMMDD') < (now() at time zone 'UTC')::date
        and to_date(right(c.relname::text, 8), 'YYYYMMDD')
            < (select max(d.day) from jobkit.finished_days d)
    order by i.inhdetachpending desc nulls last, 1
$$;

-- finished_forget: takes a removed day off the list.
create function jobkit.finished_forget(p_day date) returns void
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
    delete from jobkit.finished_days d
    where d.day = p_day and d.day < (now() at time zone 'UTC')::date
$$;

-- finished_drop: removes an expired day for a worker whose role may not. A function cannot detach
-- concurrently, so this waits for readers with every finish behind it: not for long.
create function jobkit.finished_drop(p_day date) returns void
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

-- For as long as a job is kept by default, and two weeks: the first worker need not make them.
select jobkit.finished_prepare(15);
