//! Arguments, environment, and CPU time. The last is what `limit` measures with.

use std::fs::read_to_string;
use std::str::FromStr;

/// The database to work in.
pub fn db_url() -> String {
    std::env::var("DATABASE_URL").expect("scripts/bench sets DATABASE_URL")
}

/// An argument of this process, counted from 1.
pub fn arg<T: FromStr>(index: usize, default: T) -> T {
    std::env::args().nth(index).and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A knob in the environment.
pub fn env_or<T: FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// CPU seconds of a process; with `reaped` those of its children that have ended as well.
pub fn proc_cpu(pid: u32, reaped: bool) -> f64 {
    let stat = read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks = fields.skip(11).take(if reaped { 4 } else { 2 });
    ticks.filter_map(|text| text.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// CPU seconds of a PostgreSQL server: its processes, and those that have ended.
pub fn pg_cpu(postmaster: u32) -> f64 {
    let children = format!("/proc/{postmaster}/task/{postmaster}/children");
    let children = read_to_string(children).unwrap_or_default();
    let living = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    proc_cpu(postmaster, true) + living.map(|pid| proc_cpu(pid, false)).sum::<f64>()
}
