//! One job, with everything stored about it.

use chrono::{DateTime, Utc};

use super::report::{AttemptReport, Checkpoint};
use super::summary::JobSummary;
use crate::admin::Payload;
use crate::admin::dead_letters::{DeadLetterId, FailedAttempt};
use crate::id::JobId;

/// A job with everything stored about it: live, ended, or a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobDetail {
    /// What a list shows of it.
    pub summary: JobSummary,
    /// The version of its payload.
    pub version: u16,
    /// Its payload, exactly as it is stored.
    pub args: Payload,
    /// Its metadata.
    pub metadata: Option<Payload>,
    /// What it returned, if its kind keeps that. `reason` says why there is none.
    pub result: Option<Payload>,
    /// The schedule that enqueued it, and the instant that it is for, as its metadata say.
    pub schedule: Option<(String, DateTime<Utc>)>,
    /// The topic to which it was published, as its metadata say.
    pub topic: Option<String>,
    /// The attempts that failed, oldest first: the newest 20. When one began is when it ended less
    /// what it took.
    pub attempts: Vec<FailedAttempt>,
    /// What its last five attempts said of themselves, the newest first: of those that said
    /// something.
    pub reports: Vec<AttemptReport>,
    /// Where its next attempt goes on, while it lives.
    pub checkpoint: Option<Checkpoint>,
    /// Attempts in a row whose worker died, while it lives.
    pub crashes: u32,
    /// How often it was snoozed.
    pub snoozes: u32,
    /// When somebody wanted it cancelled, while it lives.
    pub cancel_requested_at: Option<DateTime<Utc>>,
    /// Since when it holds a permit of its concurrency key.
    pub permit_since: Option<DateTime<Utc>>,
    /// Its dead-letter key.
    pub dead_letter_key: Option<String>,
    /// The group of its unique key, or its kind.
    pub unique_group: Option<String>,
    /// Its unique key: while it lives, as a dead letter, and as long as the key is kept.
    pub unique_key: Option<String>,
    /// Whether it coalesces by that key while it lives, and is not unique.
    pub coalesces: bool,
    /// The dead letter that it replays, or replayed.
    pub replays: Option<DeadLetterId>,
    /// The dead letter that it became.
    pub dead_letter: Option<DeadLetterId>,
    /// The job that replays that dead letter, or was the last to.
    pub replayed_by: Option<JobId>,
    /// Why it was discarded or cancelled, or became a dead letter; or why what it returned is not
    /// kept.
    pub reason: Option<String>,
    /// Until when it is kept, when it is finished.
    pub expires_at: Option<DateTime<Utc>>,
}
