//! What a worker's code says of limits, as statements.

/// The statement by which code says how many jobs of each key of a group may run.
pub fn announce_group(name: &str, running: u32) -> String {
    format!(
        r#"select count(*)::text from jobkit.announce_limits(
            '[{{"scope": "group", "name": "{name}", "running": {running}}}]')"#
    )
}

/// The statement by which code says that a limiter has one slot in a time.
pub fn announce_limiter(name: &str, every: &str) -> String {
    format!(
        r#"select count(*)::text from jobkit.announce_limits(
            '[{{"scope": "limiter", "name": "{name}", "every": "{every}", "burst": 1}}]')"#
    )
}
