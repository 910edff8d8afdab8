use std::time::Duration;

use crate::admin::Severity;

/// What [`Admin::doctor`](crate::Admin::doctor) found out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The version of the schema in the database; 0 without one.
    pub schema: i32,
    /// The version this binary was built for.
    pub known: i32,
    /// The rules of time zones that this process goes by, as
    /// [`ZoneRules`](crate::schedule::ZoneRules) shows them.
    pub zones: String,
    /// What is wrong or might be, the worst first; empty when all is well.
    pub findings: Vec<Finding>,
    /// The largest 100 tables of jobkit, the largest first.
    pub tables: Vec<TableSize>,
    /// What keeps old row versions alive, the oldest first, 20 at most.
    pub holders: Vec<HorizonHolder>,
}

impl Diagnosis {
    /// Brings the findings in their order: the worst first, and of equals what needs attention,
    /// since all else may follow from it.
    pub fn sort(&mut self) {
        let attention = |check| matches!(check, Check::Attention | Check::Kinds);
        self.findings.sort_by_key(|it| (std::cmp::Reverse(it.severity), !attention(it.check)));
    }
}

/// Something that is wrong, or might be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What was looked at.
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
    /// What no committed state may have: `jobkit.violations`.
    Violations,
    /// Indexes that are gone, or that cannot be used.
    Indexes,
    /// Settings by which a commit may not survive.
    Durability,
    /// Transactions that keep old row versions alive.
    Horizon,
    /// Dead row versions that nobody has vacuumed.
    Bloat,
    /// Jobs that no live worker serves.
    Kinds,
    /// All else that needs [`Attention`](crate::admin::overview::Attention).
    Attention,
    /// What workers do automatically: sweeps, partitions for the history.
    Upkeep,
    /// The clock of the database's host.
    Clock,
    /// Tables in which a publication lets nothing be changed.
    Publication,
    /// The sequence that numbers jobs.
    Ids,
    /// The rules of time zones that live workers go by.
    Zones,
}

impl Check {
    /// Its name, as everything outside Rust has it.
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

/// How large a table is, as far as the server has counted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableSize {
    /// Its name, without the schema `jobkit`.
    pub table: String,
    /// Rows.
    pub live: u64,
    /// Dead row versions: what was deleted or replaced and is not vacuumed yet.
    pub dead: u64,
    /// Bytes on disk, its indexes among them.
    pub bytes: u64,
}

impl TableSize {
    /// The share of dead row versions among all, 0 to 1; 0 for an empty table.
    #[must_use]
    pub fn dead_ratio(&self) -> f64 {
        if self.dead == 0 { 0.0 } else { self.dead as f64 / (self.live + self.dead) as f64 }
    }
}

/// Something that keeps old row versions alive, so that no vacuum can remove them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HorizonHolder {
    /// What it is: `session`, `prepared` (a prepared transaction) or `slot` (of a replication).
    pub what: String,
    /// The process id of a session, else its name.
    pub name: String,
    /// Whose it is.
    pub role: Option<String>,
    /// What a session calls itself.
    pub application: Option<String>,
    /// Its state, like `idle in transaction`.
    pub state: Option<String>,
    /// For how long; `None` where nobody knows.
    pub age: Option<Duration>,
    /// How many transactions have begun since.
    pub transactions: u64,
}
