use std::fmt;

use chrono::{DateTime, Utc};

use crate::policy::Rate;

/// The scope of a brake.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// All jobs.
    All,
    /// The jobs of a kind, in all versions and queues.
    Kind(String),
    /// The jobs of a queue.
    Queue(String),
}

impl Scope {
    /// The scope by its word: `all`, `kind` or `queue`.
    #[must_use]
    pub fn of(word: &str, name: &str) -> Option<Self> {
        match word {
            "all" => Some(Self::All),
            "kind" => Some(Self::Kind(name.to_owned())),
            "queue" => Some(Self::Queue(name.to_owned())),
            _ => None,
        }
    }

    /// Its word: `all`, `kind` or `queue`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Kind(_) => "kind",
            Self::Queue(_) => "queue",
        }
    }

    /// The name of the queue or of the kind; empty for everything.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::All => "",
            Self::Kind(name) | Self::Queue(name) => name,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => write!(f, "everything"),
            Self::Kind(name) => write!(f, "kind {name}"),
            Self::Queue(name) => write!(f, "queue {name}"),
        }
    }
}

/// What holds back a queue, a kind or everything. At least one of its parts is set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Brake {
    /// What it holds back.
    pub scope: Scope,
    /// Its pause: none of its jobs starts.
    pub paused: Option<Pause>,
    /// How many of its jobs may run at a time, across all workers.
    pub limit: Option<u32>,
    /// How many run, including those that wait in their worker for a slot; only counted with a
    /// limit.
    pub running: u32,
    /// How often its jobs may start, across all workers.
    pub rate: Option<Rate>,
}

/// Since when something is paused, by whom, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pause {
    /// Since when, by the database's clock.
    pub since: DateTime<Utc>,
    /// Who paused it, by the name they gave.
    pub actor: Option<String>,
    /// The reason they gave.
    pub reason: Option<String>,
}

impl fmt::Display for Brake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(pause) = &self.paused {
            let by = pause.actor.as_ref().map(|actor| format!(" by {actor}")).unwrap_or_default();
            let why = pause.reason.as_ref().filter(|reason| !reason.is_empty());
            let why = why.map(|reason| format!(" ({reason})")).unwrap_or_default();
            parts.push(format!("paused{by}{why}"));
        }
        if let Some(limit) = self.limit {
            parts.push(format!("at most {limit} run, {} do", self.running));
        }
        parts.extend(self.rate.map(|rate| format!("at most {rate}")));
        write!(f, "{}", parts.join("; "))
    }
}
