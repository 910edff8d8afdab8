#!/usr/bin/env bash
# With:   isolationtester of PostgreSQL 15 of Debian 12 (postgresql-client-15 15.18-0+deb12u1).
# Does:   reads two specs without a server, each with one step: `select '{"a": 1}'::jsonb`, and the same value made by
#         jsonb_build_object.
# Sees:   `unexpected character "'"` in the first: the SQL of a step ends at the first closing brace, also within a
#         string, and src/test/isolation/README does not say so. The second is read: the tool goes on to connect.
# For us: our specs (tests/isolation) write JSON with jsonb_build_object.
set -euo pipefail
tester=/usr/lib/postgresql/15/lib/pgxs/src/test/isolation/isolationtester
[ -x "$tester" ] || { echo "postgresql-client-15 is missing"; exit 2; }
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
said() { # SQL: what comes of a spec with it, where nobody listens
    printf 'session s\nstep one { %s }\npermutation one\n' "$1" |
        "$tester" "host=$folder dbname=none" 2>&1 | tr '\n' ' ' || true
}
literal=$(said "select '{\"a\": 1}'::jsonb;")
made=$(said "select jsonb_build_object('a', 1);")
echo "a literal: $literal"
echo "made: $made"
[[ $literal == *'syntax error at line 2: unexpected character "'"'"'"'* ]] && [[ $made == *"Connection 0 failed"* ]]
