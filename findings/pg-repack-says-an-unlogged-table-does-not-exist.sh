#!/usr/bin/env bash
# With:   pg_repack 1.4.8 and PostgreSQL 15 of Debian 12 (postgresql-15, postgresql-15-repack).
# Does:   repacks an unlogged table that is there: `pg_repack --table=public.waiting`.
# Sees:   `ERROR: relation "public.waiting" does not exist`, status 1 or more. pg_repack leaves unlogged tables
#         alone, but what it says is about another mistake.
# For us: `sleepers` of jobkit is unlogged, and small: leave it out of lists of tables to repack.
set -euo pipefail
bin=/usr/lib/postgresql/15/bin
[ -x "$bin/pg_repack" ] && [ -x "$bin/initdb" ] || { echo "postgresql-15-repack is missing"; exit 2; }
folder=$(mktemp -d)
chmod 755 "$folder"
as() { if [ "$(id -u)" = 0 ]; then su postgres -s /bin/bash -c "$1"; else bash -c "$1"; fi; }
[ "$(id -u)" != 0 ] || chown postgres "$folder"
trap 'as "$bin/pg_ctl -D $folder/data -m immediate stop" >/dev/null 2>&1 || true; rm -rf "$folder"' EXIT
as "$bin/initdb -A trust -U postgres -D $folder/data >/dev/null"
as "$bin/pg_ctl -w -D $folder/data -l $folder/log -o '-k $folder -c listen_addresses=' start >/dev/null"
query() { as "psql -h $folder -U postgres -qAtc \"$1\""; }
query "create extension pg_repack"
query "create table kept (id int primary key); create unlogged table waiting (id int primary key)"
as "$bin/pg_repack -h $folder -U postgres -d postgres --table=public.kept" >/dev/null 2>&1 || exit 1
said=$(as "$bin/pg_repack -h $folder -U postgres -d postgres --table=public.waiting" 2>&1) && exit 1
echo "$said"
[[ $said == *'relation "public.waiting" does not exist'* ]]
[ "$(query 'select count(*) from waiting')" = 0 ]
