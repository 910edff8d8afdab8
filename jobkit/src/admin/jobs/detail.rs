//! One job, with everything stored about it.

use chrono::{DateTime, Utc};

use super::report::{AttemptReport, Checkpoint, KeptStep};
use super::summary::JobSummary;
use crate::admin::Payload;
use crate::admin::dead_letters::{DeadLetterId, FailedAttempt};
use crate::id::{BatchId, JobId};

/// A job with everything stored about it: live, ended, or a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobDetail {
    /// The fields shown in a list.
    pub summary: JobSummary,
    /// The version of its payload.
    pub version: u16,
    /// Its payload, exactly as it is stored.
    pub args: Payload,
    /// Its metadata.
    pub metadata: Option<Payload>,
    /// Its result, if its kind keeps results. `reason` says why it is missing.
    pub result: Option<Payload>,
    /// The schedule that enqueued it and the instant, from its metadata.
    pub schedule: Option<(String, DateTime<Utc>)>,
    /// The topic to which it was published.
    pub topic: Option<String>,
    /// The newest 20 failed attempts, oldest first. An attempt began when it ended minus the time
    /// it took.
    pub attempts: Vec<FailedAttempt>,
    /// The reports of its last five attempts that reported something, the newest first.
    pub reports: Vec<AttemptReport>,
    /// The checkpoint of its next attempt, while it lives.
    pub checkpoint: Option<Checkpoint>,
    /// Its [steps](crate::JobContext::step) that have returned, in this order: the last 100, while
    /// it lives or is a dead letter.
    pub steps: Vec<KeptStep>,
    /// How many attempts in a row crashed, while it lives.
    pub crashes: u32,
    /// How often it was snoozed.
    pub snoozes: u32,
    /// When its cancellation was requested, while it lives.
    pub cancel_requested_at: Option<DateTime<Utc>>,
    /// When it got its permit of its concurrency key, if it holds one.
    pub permit_since: Option<DateTime<Utc>>,
    /// Its dead-letter key.
    pub dead_letter_key: Option<String>,
    /// The group of its unique key, or its kind.
    pub unique_group: Option<String>,
    /// Its unique key: while it lives, as a dead letter, and as long as the key is kept.
    pub unique_key: Option<String>,
    /// Whether it coalesces by that key while it lives, and is not unique.
    pub coalesces: bool,
    /// The [batch](crate::batch) of which it is a member.
    pub batch: Option<BatchId>,
    /// The batch that it is a callback of, while it lives or is a dead letter.
    pub callback_of: Option<BatchId>,
    /// The dead letter that it replays or has replayed.
    pub replays: Option<DeadLetterId>,
    /// The dead letter that it became.
    pub dead_letter: Option<DeadLetterId>,
    /// The job that replays that dead letter, or the last one that did.
    pub replayed_by: Option<JobId>,
    /// Why it was discarded, cancelled or buried, or why its result was not kept.
    pub reason: Option<String>,
    /// When it expires from the history, if it is finished.
    pub expires_at: Option<DateTime<Utc>>,
}
