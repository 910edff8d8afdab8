#!/usr/bin/env bash
# With:   drizzle-orm 0.45.4 and postgres 3.4.9 of npm.
# Does:   makes a client of postgres.js, and gives it to drizzle.
# Sees:   from then on the client itself writes no date and no JSON any more: drizzle has replaced its
#         serializers, for whoever else uses it. `sql`select ${new Date()}`` of the application fails with a
#         TypeError.
# For us: jobs that are enqueued by a client which drizzle has, too, pass payloads and times as texts, with a
#         cast (`${JSON.stringify(job)}::text::jsonb`); or by a client of their own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
command -v npm >/dev/null || { echo "npm is missing"; exit 2; }
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund drizzle-orm@0.45.4 postgres@3.4.9
cat >look.mjs <<'JS'
import postgres from "postgres";
import { drizzle } from "drizzle-orm/postgres-js";
const sql = postgres("postgres://nobody@127.0.0.1:1/none"); // it connects with the first query
const written = () => [1184, 3802].map((type) => typeof sql.options.serializers[type](new Date(0)));
const before = written();
drizzle(sql);
console.log(`before: ${before}, after: ${written()}`);
JS
said=$(node look.mjs)
echo "$said"
[ "$said" = "before: string,string, after: object,object" ]
