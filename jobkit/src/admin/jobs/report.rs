//! Reports of attempts: progress and logs.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::store::number;

/// What an attempt reported while it ran, up to its worker's last heartbeat or its end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptReport {
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The worker that ran it; the last one if it was released and claimed again.
    pub worker: i64,
    /// When it began.
    pub began_at: DateTime<Utc>,
    /// Its last progress.
    pub progress: Option<Progress>,
    /// The last lines it logged, the oldest first, 50 at most; empty unless its worker has the
    /// `AttemptLog` of the feature `logs`.
    pub lines: Vec<LogLine>,
}

/// The progress of an attempt. Displayed without its age: `40 of 100, importing rows`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// How much is done.
    pub done: u64,
    /// The total, if it is known.
    pub total: Option<u64>,
    /// What it is doing.
    pub note: Option<String>,
    /// When it was reported.
    pub at: DateTime<Utc>,
}

/// A line that an attempt logged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogLine {
    /// When it was logged, by the clock of the worker.
    pub at: DateTime<Utc>,
    /// `ERROR`, `WARN`, `INFO`, `DEBUG` or `TRACE`.
    pub level: String,
    /// The module that logged it, or the target it names.
    pub target: String,
    /// The message with its fields, 500 bytes at most.
    pub text: String,
}

/// The checkpoint of a job. Its content is never shown, since it may contain what the kind redacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The number of the attempt that saved it, from 1.
    pub attempt: u32,
    /// When it was saved.
    pub saved_at: DateTime<Utc>,
    /// How large it is, as JSON text.
    pub bytes: u64,
}

/// A step that has returned. What it returned is never shown, since it may contain what the kind
/// redacts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptStep {
    /// Its name.
    pub name: String,
    /// Which attempt ran it, when its value was saved, and how large that is.
    pub saved: Checkpoint,
}

impl Progress {
    /// How much of it is done, 0 to 100, if the total is known.
    #[must_use]
    pub fn percent(&self) -> Option<u8> {
        let total = u128::from(self.total?);
        let percent = match total {
            0 => 100,
            _ => (u128::from(self.done) * 100 / total).min(100),
        };
        u8::try_from(percent).ok()
    }

    /// The progress in these columns, if there is any.
    pub(in crate::admin) fn of(
        done: Option<i64>,
        total: Option<i64>,
        note: Option<String>,
        at: Option<DateTime<Utc>>,
    ) -> Option<Self> {
        let whole = |number: i64| u64::try_from(number).unwrap_or(0);
        Some(Self { done: whole(done?), total: total.map(whole), note, at: at? })
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.done)?;
        if let Some(total) = self.total {
            write!(f, " of {total}")?;
        }
        self.note.as_ref().map_or(Ok(()), |note| write!(f, ", {note}"))
    }
}

/// A report as the database answers it; times in microseconds.
#[derive(Deserialize)]
pub(super) struct StoredReport {
    attempt: i64,
    worker_id: i64,
    began_at: i64,
    done: Option<i64>,
    total: Option<i64>,
    note: Option<String>,
    progressed_at: Option<i64>,
    lines: Vec<StoredLine>,
}

#[derive(Deserialize)]
struct StoredLine {
    at: i64,
    level: String,
    target: String,
    text: String,
}

/// A checkpoint, likewise.
#[derive(Deserialize)]
pub(super) struct StoredCheckpoint {
    attempt: i64,
    saved_at: i64,
    bytes: u64,
}

/// A step, likewise.
#[derive(Deserialize)]
pub(super) struct StoredStep {
    name: String,
    #[serde(flatten)]
    saved: StoredCheckpoint,
}

impl StoredStep {
    pub(super) fn step(self) -> KeptStep {
        KeptStep { name: self.name, saved: self.saved.checkpoint() }
    }
}

fn time(microseconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(microseconds).unwrap_or_default()
}

impl StoredReport {
    pub(super) fn report(self) -> AttemptReport {
        let Self { done, total, note, progressed_at, .. } = self;
        let line = |StoredLine { at, level, target, text }| {
            let at = time(at);
            LogLine { at, level, target, text }
        };
        AttemptReport {
            attempt: number(self.attempt),
            worker: self.worker_id,
            began_at: time(self.began_at),
            progress: Progress::of(done, total, note, progressed_at.map(time)),
            lines: self.lines.into_iter().map(line).collect(),
        }
    }
}

impl StoredCheckpoint {
    pub(super) fn checkpoint(self) -> Checkpoint {
        let Self { attempt, saved_at, bytes } = self;
        Checkpoint { attempt: number(attempt), saved_at: time(saved_at), bytes }
    }
}
