//! Arguments that several commands share.

use std::time::Duration;

use jobkit::Admin;
use serde_json::Value;

/// A page of a list.
#[derive(Debug, clap::Args)]
pub(super) struct Rows {
    /// The most rows to list, 1 to 500
    #[arg(long, default_value_t = 50, value_name = "NUMBER")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(super) limit: u32,
}

/// The threshold for being late.
#[derive(Debug, clap::Args)]
pub(super) struct Late {
    /// How long a job may be ready or wait for a permit, or an operation may make no progress,
    /// before it needs attention
    #[arg(long, default_value = "5min", value_name = "TIME", value_parser = span)]
    late_after: Duration,
}

impl Late {
    pub(super) fn of(&self, admin: &Admin) -> Admin {
        admin.clone().late_after(self.late_after)
    }
}

/// Confirmation of an action that cannot be undone.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Consent {
    /// Carries it out; without --yes, only shows what would be done
    #[arg(long)]
    pub(super) yes: bool,
    /// The reason, for the audit log
    #[arg(long, default_value = "", value_name = "TEXT")]
    pub(super) reason: String,
}

/// A duration as people write it: `90s`, `7days`, `1h 30min`.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}; write 90s, 12h or 7days"))
}

/// A worker's id, as logs and lists show it.
pub(super) fn worker(text: &str) -> Result<i64, String> {
    let id = u64::from_str_radix(text, 16).map(u64::cast_signed);
    id.map_err(|_| "a worker's id is hexadecimal".to_owned())
}

/// A JSON document.
pub(super) fn json(text: &str) -> Result<Value, serde_json::Error> {
    crate::format::json::read(text.as_bytes())
}
