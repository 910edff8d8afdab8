#!/usr/bin/env bash
# With:   croniter 7.0.0 and cronsim 2.8 of PyPI; cron-parser 5.10.6 and croner 11.0.1 of npm.
# Does:   counts the instants of `0 0 1-7 * */7`, an idiom for the first Sunday of a month, in June 2026.
# Sees:   1 by cronsim, which takes days that are both when a day field begins with a star; 10 by the others, which
#         take days that are either.
# For us: such a text is refused, with `0 0 1-7 * +SUN` and `SUN#1` as advice: docs/schedules.md. A job that is moved
#         from one of these programs to another may run ten times as often.
set -euo pipefail
command -v python3 >/dev/null || { echo "python3 is missing"; exit 2; }
command -v npm >/dev/null || { echo "npm is missing"; exit 2; }
command -v node >/dev/null || { echo "node is missing"; exit 2; }
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
python3 -m venv venv; venv/bin/pip -q install croniter==7.0.0 cronsim==2.8
echo '{"private": true}' >package.json; npm install --silent cron-parser@5.10.6 croner@11.0.1 >/dev/null
venv/bin/python - >seen.txt <<'P'
import datetime
from croniter import croniter
from cronsim import CronSim
start = datetime.datetime(2026, 5, 31, 23, tzinfo=datetime.timezone.utc)
end = start + datetime.timedelta(days=30, hours=1)
text = "0 0 1-7 * */7"
def days(following):
    count = 0
    while following() < end:
        count += 1
    return count
it = croniter(text, start)
print("croniter", days(lambda: it.get_next(datetime.datetime)))
sim = CronSim(text, start)
print("cronsim", days(lambda: next(sim)))
P
node - >>seen.txt <<'J'
const { CronExpressionParser } = require("cron-parser"); const { Cron } = require("croner");
const start = new Date("2026-05-31T23:00:00Z"), end = new Date("2026-07-01T00:00:00Z"), text = "0 0 1-7 * */7";
let count = 0; const parsed = CronExpressionParser.parse(text, { currentDate: start, tz: "UTC" });
while (parsed.next().toDate() < end) count++;
console.log("cron-parser", count);
console.log("croner", new Cron(text, { timezone: "UTC", paused: true }).nextRuns(100, start).filter(d => d < end).length);
J
cat seen.txt
[ "$(tr '\n' ' ' <seen.txt)" = "croniter 10 cronsim 1 cron-parser 10 croner 10 " ]
