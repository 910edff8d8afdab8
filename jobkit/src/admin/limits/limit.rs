use std::fmt;

use chrono::{DateTime, Utc};

use super::Scope;
use crate::admin::explain::Time;
use crate::policy::Rate;

/// The limits and the pause of a queue, a kind, a group, a limiter, a key or everything.
///
/// A part that is `None` was never set. A part whose [value](Said::value) is `None` was set to
/// unlimited.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limit {
    /// What it applies to.
    pub scope: Scope,
    /// How many of its jobs may run at a time, across all workers; for a group, the number for each
    /// key. With 0 none starts.
    pub running: Option<Said<u32>>,
    /// How often its jobs may start, over all workers; of a group or a limiter, for each key.
    pub rate: Option<Said<Rate>>,
    /// How many jobs of the queue may wait, ready or for a permit. Beyond that, enqueues fail with
    /// [`QueueFull`](crate::error::QueueFull).
    pub waiting: Option<Said<u32>>,
    /// Its pause: none of its jobs starts.
    pub paused: Option<Pause>,
    /// How many of its jobs run, including those that wait in their worker for a slot; for a key,
    /// how many permits are taken. Counted only if there is a limit, and not for groups.
    pub runs: Option<u32>,
    /// How many jobs waited when a worker last counted them; at most one more than the limit.
    pub waits: Option<u32>,
    /// When the queue became full, if it is full.
    pub full_since: Option<DateTime<Utc>>,
}

/// A part of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Said<T> {
    /// The value in force; `None` is unlimited.
    pub value: Option<T>,
    /// Who set it.
    pub by: By,
}

/// Who set a part of a limit. Operators take precedence over code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum By {
    /// The worker that started last.
    Code,
    /// An operator.
    Operator,
}

impl By {
    /// Its name, as used outside Rust: `code` or `operator`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Operator => "operator",
        }
    }
}

/// A pause: when it began, who paused, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pause {
    /// When it began, by the database's clock.
    pub since: DateTime<Utc>,
    /// When it ends; `None` if somebody has to resume it.
    pub until: Option<DateTime<Utc>>,
    /// Who paused it, by the name they gave.
    pub actor: Option<String>,
    /// The reason they gave.
    pub reason: Option<String>,
}

impl Limit {
    /// A scope for which nothing was set.
    pub(crate) fn unsaid(scope: Scope) -> Self {
        let (runs, waits, full_since) = (None, None, None);
        let (running, rate, waiting, paused) = (None, None, None, None);
        Self { scope, running, rate, waiting, paused, runs, waits, full_since }
    }

    /// How many of its jobs may run at a time, if that is limited.
    #[must_use]
    pub fn most_running(&self) -> Option<u32> {
        self.running?.value
    }

    /// How often its jobs may start, if that is limited.
    #[must_use]
    pub fn most_often(&self) -> Option<Rate> {
        self.rate?.value
    }

    /// How many of its jobs may wait, if that is limited.
    #[must_use]
    pub fn most_waiting(&self) -> Option<u32> {
        self.waiting?.value
    }

    /// Whether an operator set any part of it.
    #[must_use]
    pub fn is_overridden(&self) -> bool {
        let by = [self.running.map(|it| it.by), self.rate.map(|it| it.by)];
        let by = by.into_iter().chain([self.waiting.map(|it| it.by)]).flatten();
        by.into_iter().any(|by| by == By::Operator)
    }

    /// For display: `at most 5 run (2 now)`.
    fn running_text(&self, most: u32) -> String {
        let each = matches!(self.scope, Scope::Group(_)).then_some(" of each key");
        let each = each.unwrap_or_default();
        match (most, self.runs) {
            (0, _) => format!("none{each} starts"),
            (_, Some(runs)) => format!("at most {most}{each} run ({runs} now)"),
            (_, None) => format!("at most {most}{each} run"),
        }
    }

    fn waiting_text(&self, most: u32) -> String {
        let full = if self.full_since.is_some() { "full: " } else { "" };
        let waits = self.waits.map(|waits| format!(", {waits} do")).unwrap_or_default();
        format!("{full}at most {most} wait{waits}")
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.paused.as_ref().map(Pause::brief));
        parts.extend(self.most_running().map(|most| self.running_text(most)));
        parts.extend(self.most_often().map(|rate| format!("at most {rate}")));
        parts.extend(self.most_waiting().map(|most| self.waiting_text(most)));
        let said = self.running.is_some() || self.rate.is_some() || self.waiting.is_some();
        if parts.is_empty() && said {
            parts.push("no limit".to_owned());
        }
        write!(f, "{}", parts.join("; "))
    }
}

impl Pause {
    fn given(text: Option<&String>) -> Option<&String> {
        text.filter(|text| !text.is_empty())
    }

    /// `paused by ada (the reason)`
    fn brief(&self) -> String {
        let by = Self::given(self.actor.as_ref()).map(|actor| format!(" by {actor}"));
        let until = self.until.as_ref().map(|until| format!(" until {}", Time(until)));
        let why = Self::given(self.reason.as_ref()).map(|reason| format!(" ({reason})"));
        let rest: String = [until, by, why].into_iter().flatten().collect();
        format!("paused{rest}")
    }
}

/// What follows `is paused`.
impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(actor) = Self::given(self.actor.as_ref()) {
            write!(f, " by {actor}")?;
        }
        write!(f, " since {}", Time(&self.since))?;
        if let Some(until) = &self.until {
            write!(f, " until {}", Time(until))?;
        }
        Self::given(self.reason.as_ref()).map_or(Ok(()), |reason| write!(f, ": {reason}"))
    }
}
