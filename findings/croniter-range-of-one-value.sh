#!/usr/bin/env bash
# Package: croniter 7.0.0 (PyPI); cronsim 2.8 beside it.
# Seen: `5-5 * * * *`, a range of one value, fires every minute by croniter; by cronsim (and in cron) at minute 5.
# For users of jobkit: `5-5` is minute 5. A text that a program generates ("from-to") should not be checked with
#   croniter before it is given to jobkit.
# Ends with 0 if it is as stated, with 1 if that has changed.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
python3 -m venv venv; venv/bin/pip -q install croniter==7.0.0 cronsim==2.8
venv/bin/python - >seen.txt <<'P'
import datetime
from croniter import croniter
from cronsim import CronSim
start = datetime.datetime(2026, 11, 25, 12, 34, tzinfo=datetime.timezone.utc)
it, sim = croniter("5-5 * * * *", start), CronSim("5-5 * * * *", start)
print("croniter", *(it.get_next(datetime.datetime).strftime("%H:%M") for _ in range(3)))
print("cronsim", *(next(sim).strftime("%H:%M") for _ in range(3)))
P
cat seen.txt
[ "$(tr '\n' ' ' <seen.txt)" = "croniter 12:35 12:36 12:37 cronsim 13:05 14:05 15:05 " ]
