use std::time::Duration;

use crate::admin::Severity;

/// The result of [`Admin::doctor`](crate::Admin::doctor).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The version of the schema in the database; 0 without one.
    pub schema: i32,
    /// The version this binary was built for.
    pub known: i32,
    /// The time zone rules of this process, as [`ZoneRules`](crate::schedule::ZoneRules) shows
    /// them.
    pub zones: String,
    /// Problems and risks, the worst first; empty if there are none.
    pub findings: Vec<Finding>,
    /// The largest 100 tables of jobkit, the largest first.
    pub tables: Vec<TableSize>,
    /// What keeps old row versions alive, the oldest first, at most 20.
    pub holders: Vec<HorizonHolder>,
}

impl Diagnosis {
    /// Sorts the findings: the worst first, and among equals what needs attention, since other
    /// findings may follow from it.
    pub fn sort(&mut self) {
        let attention = |check| matches!(check, Check::Attention | Check::Kinds);
        self.findings.sort_by_key(|it| (std::cmp::Reverse(it.severity), !attention(it.check)));
    }
}

/// A problem or a risk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Its severity.
    pub severity: Severity,
    /// What was checked.
    pub check: Check,
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub advice: String,
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Check {
    /// The version of the server, and that of the schema in it.
    Schema,
    /// Rows that no committed state may have: `jobkit.violations`.
    Violations,
    /// Indexes that are missing or cannot be used.
    Indexes,
    /// Settings that may lose a commit.
    Durability,
    /// Transactions that keep old row versions alive.
    Horizon,
    /// Dead row versions that were not vacuumed.
    Bloat,
    /// Jobs that no live worker serves.
    Kinds,
    /// Everything else that needs [`Attention`](crate::admin::overview::Attention).
    Attention,
    /// What workers do automatically: sweeps, partitions for the history.
    Upkeep,
    /// The clock of the database's host.
    Clock,
    /// Tables that a publication makes read-only.
    Publication,
    /// The sequences of ids.
    Ids,
    /// The time zone rules of live workers.
    Zones,
}

impl Check {
    /// Its name, as used outside Rust.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Violations => "violations",
            Self::Indexes => "indexes",
            Self::Durability => "durability",
            Self::Horizon => "horizon",
            Self::Bloat => "bloat",
            Self::Kinds => "kinds",
            Self::Attention => "attention",
            Self::Upkeep => "upkeep",
            Self::Clock => "clock",
            Self::Publication => "publication",
            Self::Ids => "ids",
            Self::Zones => "zones",
        }
    }
}

/// The size of a table, by the server's estimates.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableSize {
    /// Its name, without the schema `jobkit`.
    pub table: String,
    /// Rows.
    pub live: u64,
    /// Dead row versions: deleted or replaced, and not yet vacuumed.
    pub dead: u64,
    /// Bytes on disk, including its indexes.
    pub bytes: u64,
}

impl TableSize {
    /// The share of dead row versions among all, 0 to 1; 0 for an empty table.
    #[must_use]
    pub fn dead_ratio(&self) -> f64 {
        if self.dead == 0 { 0.0 } else { self.dead as f64 / (self.live + self.dead) as f64 }
    }
}

/// Something that keeps old row versions alive, so that vacuum cannot remove them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HorizonHolder {
    /// Its kind: `session`, `prepared` (a prepared transaction) or `slot` (of a replication).
    pub what: String,
    /// The process id of a session, else its name.
    pub name: String,
    /// The role it belongs to.
    pub role: Option<String>,
    /// The application name of a session.
    pub application: Option<String>,
    /// Its state, like `idle in transaction`.
    pub state: Option<String>,
    /// How long it has done so; `None` if that is unknown.
    pub age: Option<Duration>,
    /// How many transactions have started since.
    pub transactions: u64,
}
