#!/usr/bin/env bash
# With:   APScheduler 3.11.3 of PyPI.
# Does:   reads `0 9 * * 1` and `0 0 * * MON#1` with CronTrigger.from_crontab.
# Sees:   1 is Tuesday, since weekdays are counted from Monday, and `MON#1` is every Monday: what follows the name is
#         passed over.
# For us: 1 is Monday, and `MON#1` the first one of a month. Names mean the same in both programs.
set -euo pipefail
command -v python3 >/dev/null || { echo "python3 is missing"; exit 2; }
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
python3 -m venv venv; venv/bin/pip -q install APScheduler==3.11.3
venv/bin/python - >seen.txt <<'P'
import datetime
from apscheduler.triggers.cron import CronTrigger
start = datetime.datetime(2026, 11, 25, 12, tzinfo=datetime.timezone.utc)
def seen(text, many):
    trigger, found, last = CronTrigger.from_crontab(text, timezone="UTC"), [], None
    for _ in range(many):
        last = trigger.get_next_fire_time(last, start if last is None else last + datetime.timedelta(seconds=1))
        found.append(last.strftime("%a-%d"))
    print(text, "is", *found)
seen("0 9 * * 1", 1)
seen("0 0 * * MON#1", 3)
P
cat seen.txt
[ "$(tr '\n' ' ' <seen.txt)" = "0 9 * * 1 is Tue-01 0 0 * * MON#1 is Mon-30 Mon-07 Mon-14 " ]
