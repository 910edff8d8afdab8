//! Dead letters: finding, showing and removing them.

use chrono::{DateTime, Utc};

use self::statements::Criteria;
use crate::admin::AdminError;
use crate::admin::count::count;
use crate::admin::{Admin, Count};
use crate::error::InvalidValue;
use crate::limits::{self, KEY_BYTES, NAME_BYTES};

mod cause;
mod dead_letter;
mod reference;
mod replay;
pub(super) mod statements;

pub use self::cause::{CauseNote, CauseRef};
pub use self::dead_letter::{
    DeadLetter, DeadLetterCursor, DeadLetterGroup, DeadLetterId, DeadLetterPage, DeadLetterState,
    DeadLetterSummary, DeadReason, FailedAttempt,
};
pub use self::reference::{DeadLetterDiscarded, DeadLetterRef};
pub use self::replay::{Replay, ReplayError};

/// Which dead letters match: those that meet every condition set here. Without a
/// [`state`](Self::state) only open ones match.
///
/// ```
/// use jobkit::admin::dead_letters::DeadLetterFilter;
///
/// let payments = DeadLetterFilter::all().kind("charge_card").key("account-7");
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeadLetterFilter {
    pub(super) criteria: Criteria,
}

impl DeadLetterFilter {
    /// Every open dead letter. Narrow it down unless you want all of them.
    #[must_use]
    pub fn all() -> Self {
        Self { criteria: Criteria::default() }
    }

    /// Only those in this state, instead of the open ones.
    #[must_use]
    pub fn state(mut self, state: DeadLetterState) -> Self {
        self.criteria.state = state;
        self
    }

    /// Only those of this stored kind; 1 to 128 bytes.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.criteria.kind = Some(kind.into());
        self
    }

    /// Only those whose last job was of this queue; 1 to 128 bytes.
    #[must_use]
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.criteria.queue = Some(queue.into());
        self
    }

    /// Only those with this dead-letter key, of any kind; at most 512 bytes.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.criteria.key = Some(key.into());
        self
    }

    /// Only those with this fingerprint, as [`Admin::dead_letter_groups`] returns it.
    #[must_use]
    pub fn fingerprint(mut self, fingerprint: impl Into<String>) -> Self {
        self.criteria.fingerprint = Some(fingerprint.into());
        self
    }

    /// Only those whose last job had this tag; 1 to 128 bytes. No index finds them: among the
    /// newest 10,000 that match the other conditions, it shows those with the tag, page by page.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.criteria.tag = Some(tag.into());
        self
    }

    /// Only those whose last failure was earlier than this, by the database's clock.
    #[must_use]
    pub fn failed_before(mut self, time: DateTime<Utc>) -> Self {
        self.criteria.failed_before = Some(limits::time(time));
        self
    }

    /// Only those whose last failure was later than this, by the database's clock.
    #[must_use]
    pub fn failed_after(mut self, time: DateTime<Utc>) -> Self {
        self.criteria.failed_after = Some(limits::time(time));
        self
    }

    pub(super) fn check(&self) -> Result<(), InvalidValue> {
        let Criteria { kind, queue, key, fingerprint, tag, .. } = &self.criteria;
        let names = [("kind", kind), ("queue", queue), ("fingerprint", fingerprint), ("tag", tag)];
        for (what, name) in names {
            name.as_ref().map_or(Ok(()), |name| limits::name(what, name, NAME_BYTES))?;
        }
        limits::text("dead-letter key", key.as_deref().unwrap_or(""), KEY_BYTES)
    }
}

impl Admin {
    /// A page of 1 to 500 matching dead letters (a `limit` outside this range is clamped), the
    /// newest failure first. The next page begins after the cursor that this one returns; keep the
    /// filter the same.
    ///
    /// A page looks at 10,000 dead letters at most, so it may be short or empty and still have a
    /// cursor. Indexes cover the filter's key, its state and its times, and for open ones its
    /// fingerprint, but not its kind and queue.
    ///
    /// Dead letters that fail again between two pages move to the front of the list. All others
    /// appear once.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the texts of the filter.
    pub async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        after: Option<DeadLetterCursor>,
        limit: u32,
    ) -> Result<DeadLetterPage, AdminError> {
        filter.check()?;
        let limit = limit.clamp(1, 500).into();
        self.ask(&statements::dead_letters(&filter.criteria, after, limit)).await
    }

    /// How many dead letters match the filter, among the newest 10,000 failures at most.
    ///
    /// # Errors
    /// As [`dead_letters`](Self::dead_letters).
    pub async fn count_dead_letters(&self, filter: &DeadLetterFilter) -> Result<Count, AdminError> {
        filter.check()?;
        let (number, more) = self.ask(&statements::dead_letter_count(&filter.criteria)).await?;
        Ok(count(number.min(10_000), more))
    }

    /// The open dead letters by apparent cause: kind, Rust type of the error, and its text without
    /// numbers, ids, quotes and addresses. Returns 1 to 100 groups (a `limit` outside this range is
    /// clamped), the most recent failure first.
    ///
    /// If there are more than 300 groups, only those of the newest 10,000 dead letters and 300
    /// others are considered.
    pub async fn dead_letter_groups(&self, limit: u32) -> Result<Vec<DeadLetterGroup>, AdminError> {
        self.ask(&statements::dead_letter_groups(limit.clamp(1, 100).into())).await
    }

    /// These dead letters, 1 to 500, with everything stored about them, the newest failure first.
    /// Ids that do not exist are skipped.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the number of ids.
    pub async fn whole_dead_letters(
        &self,
        ids: &[DeadLetterId],
    ) -> Result<Vec<DeadLetter>, AdminError> {
        limits::range("number of ids", ids.len(), 1..=500, "1 to 500")?;
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        self.ask(&statements::whole_dead_letters(&ids)).await
    }
}
