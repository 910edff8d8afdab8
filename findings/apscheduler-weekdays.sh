#!/usr/bin/env bash
# Package: APScheduler 3.11.3 (PyPI).
# Seen: CronTrigger.from_crontab counts weekdays from Monday, so `0 9 * * 1` is Tuesday, and passes over what follows
#   a name: `0 0 * * MON#1` is every Monday. Neither is said when the text is read.
# For users of jobkit: here 1 is Monday, as in cron, and `MON#1` the first Monday of a month. Use names of weekdays in
#   texts that both programs read.
# Ends with 0 if it is as stated, with 1 if that has changed.
set -euo pipefail
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
