#!/usr/bin/env bash
# With:   croniter 7.0.0 and cronsim 2.8 of PyPI.
# Does:   reads `5-5 * * * *`, a range of one value.
# Sees:   every minute by croniter, minute 5 by cronsim.
# For us: `5-5` is minute 5. Texts that a program makes of "from" and "to" are not to be checked with croniter.
set -euo pipefail
command -v python3 >/dev/null || { echo "python3 is missing"; exit 2; }
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
