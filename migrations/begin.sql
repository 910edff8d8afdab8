-- The beginning of every migration. It takes the lock that lets one run at a time, until the
-- commit, and creates the schema and its bookkeeping, which the next statements read.
begin isolation level read committed read write;
set local client_min_messages = warning;
set local search_path = pg_catalog, pg_temp;
set local standard_conforming_strings = on;
-- Another migration may wait for its locks for more than a minute.
set local lock_timeout = 0;
set local statement_timeout = 0;
set local idle_in_transaction_session_timeout = 0;
do $$ begin
    -- PostgreSQL 17 and later.
    if current_setting('transaction_timeout', true) is not null then
        perform set_config('transaction_timeout', '0', true);
    end if;
    if current_setting('server_encoding') <> 'UTF8' then
        raise exception 'jobkit: the encoding of this database is %, not UTF8',
            current_setting('server_encoding')
            using hint = 'Make another: create database ... encoding ''UTF8'' template template0';
    end if;
end $$;
select pg_advisory_xact_lock(hashtextextended('jobkit migrations', 0));
set local lock_timeout = '60s';
do $$ begin
    -- IF NOT EXISTS would need the right to create schemas even if it exists.
    if to_regnamespace('jobkit') is null then create schema jobkit; end if;
end $$;
create table if not exists jobkit._migrations (
    version integer primary key,
    name text not null,
    checksum text not null,
    readable_by integer not null,
    applied_at timestamptz not null default clock_timestamp()
);
