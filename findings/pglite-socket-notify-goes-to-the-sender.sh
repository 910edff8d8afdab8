#!/usr/bin/env bash
# With:   @electric-sql/pglite 0.5.14, @electric-sql/pglite-socket 0.2.17 and pg 8.16.3 of npm.
# Does:   one client of PGlite's socket listens; another, which does not, notifies.
# Sees:   the notification comes to the one that sent it, and the one that listens hears nothing: PGlite has
#         one session, and tells whoever speaks.
# For us: nobody hears of new jobs there. A worker refuses such an address, as one of a transaction pooler.
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
const [listener, sender] = [new pg.Client(options), new pg.Client(options)];
const heard = [];
listener.on("notification", () => heard.push("the listener"));
sender.on("notification", () => heard.push("the sender"));
await listener.connect();
await sender.connect();
await listener.query("listen news");
await sender.query("notify news");
// Each of them asks once more: what comes for it comes with an answer at the latest.
await listener.query("select 1");
await sender.query("select 1");
await new Promise((resolve) => setTimeout(resolve, 1000));
console.log(`heard by ${heard.join(", ") || "nobody"}`);
process.exit(0);
JS
said=$(node look.mjs)
echo "$said"
[ "$said" = "heard by the sender" ]
