#!/usr/bin/env bash
# With:   @electric-sql/pglite 0.5.14, @electric-sql/pglite-socket 0.2.17 and pg 8.16.3 of npm.
# Does:   one client of the socket sets something and takes an advisory lock; another asks for both.
# Sees:   the second sees what the first has set, and is granted the lock that the first holds: all clients of
#         the socket are one session of PostgreSQL. (Its README says that PGlite has a single connection.)
# For us: what relies on a session of its own does not hold there: advisory locks, settings, prepared
#         statements. A worker refuses such an address, as one of a transaction pooler.
set -euo pipefail
command -v npm >/dev/null || { echo "npm is missing"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund \
    @electric-sql/pglite@0.5.14 @electric-sql/pglite-socket@0.2.17 pg@8.16.3
cat >look.mjs <<'JS'
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import pg from "pg";
const server = new PGLiteSocketServer({
  db: await PGlite.create(), port: 0, host: "127.0.0.1", maxConnections: 20,
});
await server.start();
const port = Number(server.getServerConn().split(":").pop());
const options = { host: "127.0.0.1", port, user: "postgres", database: "postgres", ssl: false };
const [one, other] = [new pg.Client(options), new pg.Client(options)];
await one.connect();
await other.connect();
await one.query("set application_name = 'one'");
await one.query("select pg_advisory_lock(7)");
const { rows } = await other.query(
  "select current_setting('application_name') as name, pg_try_advisory_lock(7) as locked",
);
console.log(`the other is ${rows[0].name}, locked: ${rows[0].locked}`);
process.exit(0);
JS
said=$(node look.mjs)
echo "$said"
[ "$said" = "the other is one, locked: true" ]
