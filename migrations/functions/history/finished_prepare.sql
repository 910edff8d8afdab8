-- finished_prepare: creates the partitions of `finished` for today and p_days more, and corrects
-- their list, since a table may have been dropped by hand or restored from a backup. A partition
-- whose removal was interrupted gets no more rows: the pruner removes it.
-- CREATE + ATTACH waits for no reader and delays no finish, unlike CREATE … PARTITION OF. Runs as
-- the owner, so that workers need no right to create tables.
create or replace function jobkit.finished_prepare(p_days integer) returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
set datestyle = 'ISO'                            -- others use ambiguous zone names
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
-- Roles with only USAGE of the schema create nothing.
revoke all on function jobkit.finished_prepare from public;
