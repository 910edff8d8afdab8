//! Actions on many jobs or dead letters, carried out by workers.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::admin::AdminError;
use crate::admin::dead_letters::statements::until;
use crate::admin::dead_letters::{DeadLetterFilter, DeadLetterState};
use crate::admin::jobs::{JobQuery, Listing, list};
use crate::admin::{Admin, Count};
use crate::limits;

mod begin;
mod operation;
mod reference;
mod selected;
pub(super) mod statements;

pub use self::begin::{BeginOperation, RunOperation};
pub use self::operation::{Operation, OperationResult, OperationState, Preview};
pub use self::reference::OperationRef;
pub use self::selected::Selected;

/// What an operation does, and on what.
///
/// Only live jobs match: a query about ended jobs matches none.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum BulkAction {
    /// Cancels jobs, each as [`JobRef::cancel`](crate::admin::jobs::JobRef::cancel) does.
    Cancel(JobQuery),
    /// Discards jobs, each as [`JobRef::discard`](crate::admin::jobs::JobRef::discard) does.
    Discard(JobQuery),
    /// Reschedules waiting jobs, `None` for now, each as
    /// [`JobRef::reschedule`](crate::admin::jobs::JobRef::reschedule) does.
    Reschedule(JobQuery, Option<DateTime<Utc>>),
    /// Replays open dead letters, each as
    /// [`DeadLetterRef::replay`](crate::admin::dead_letters::DeadLetterRef::replay) does.
    Replay(DeadLetterFilter),
    /// Removes dead letters, each as
    /// [`DeadLetterRef::discard`](crate::admin::dead_letters::DeadLetterRef::discard) does.
    DiscardDeadLetters(DeadLetterFilter),
    /// Removes dead letters whose last failure was longer ago than this; at most 1,000 years.
    Purge(DeadLetterFilter, Duration),
    /// Does this to the jobs or dead letters named by id.
    Selected(Selected),
}

impl BulkAction {
    /// The name of the verb, as in [`Operation::verb`].
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Cancel(_) => "cancel",
            Self::Discard(_) => "discard",
            Self::Reschedule(..) => "reschedule",
            Self::Replay(_) => "replay",
            Self::DiscardDeadLetters(_) => "discard_dead_letters",
            Self::Purge(..) => "purge",
            Self::Selected(selected) => selected.verb(),
        }
    }

    fn jobs(&self) -> Option<&JobQuery> {
        match self {
            Self::Cancel(query) | Self::Discard(query) | Self::Reschedule(query, _) => Some(query),
            _ => None,
        }
    }

    pub(super) fn dead_letters(&self) -> Option<&DeadLetterFilter> {
        match self {
            Self::Replay(filter) | Self::DiscardDeadLetters(filter) | Self::Purge(filter, _) => {
                Some(filter)
            }
            _ => None,
        }
    }

    /// Whether it would replay dead letters that are not open, so that nothing matches.
    fn replays_none(&self) -> bool {
        matches!(self, Self::Replay(filter) if filter.criteria.state != DeadLetterState::Open)
    }

    pub(super) fn filter(&self) -> Value {
        match self {
            Self::Cancel(query) | Self::Discard(query) | Self::Reschedule(query, _) => {
                query.filter()
            }
            Self::Replay(filter) | Self::DiscardDeadLetters(filter) | Self::Purge(filter, _) => {
                filter.criteria.filter()
            }
            Self::Selected(selected) => selected.filter(),
        }
    }

    /// The time of a reschedule.
    pub(super) fn run_at(&self) -> Option<DateTime<Utc>> {
        match self {
            Self::Reschedule(_, at) | Self::Selected(Selected::Reschedule(_, at)) => {
                at.map(limits::time)
            }
            _ => None,
        }
    }

    fn check(&self) -> Result<(), AdminError> {
        self.run_at().map(limits::run_at).transpose()?;
        if let Self::Selected(selected) = self {
            return Ok(selected.check()?);
        }
        self.jobs().map_or(Ok(()), JobQuery::check)?;
        let Some(filter) = self.dead_letters() else { return Ok(()) };
        filter.check()?;
        match (self, filter.criteria.state) {
            (Self::Replay(_), _) => Ok(()),
            (_, DeadLetterState::Replaying) => Err(AdminError::Replaying),
            _ => Ok(()),
        }
    }
}

fn ended(query: &JobQuery) -> bool {
    matches!(query.listing, Listing::Finished | Listing::Discarded | Listing::Cancelled)
}

impl Admin {
    /// What [`begin_operation`](Self::begin_operation) would act on: how many, counted as by
    /// [`count_jobs`](Self::count_jobs) or [`count_dead_letters`](Self::count_dead_letters), and
    /// five of them.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the filter or the number of ids, and [`AdminError::Replaying`]
    /// if it would remove dead letters that are being replayed.
    pub async fn preview(&self, action: &BulkAction) -> Result<Preview, AdminError> {
        action.check()?;
        if let BulkAction::Selected(selected) = action {
            return self.preview_selected(selected).await;
        }
        let mut preview =
            Preview { count: Count::Exactly(0), jobs: Vec::new(), dead_letters: Vec::new() };
        if let Some(query) = action.jobs().filter(|query| !ended(query)) {
            (preview.count, preview.jobs) = self.sample(query, 5).await?;
            preview.jobs.retain(list::is_live);
        }
        if let Some(filter) = action.dead_letters().filter(|_| !action.replays_none()) {
            let mut filter = filter.clone();
            if let BulkAction::Purge(_, older_than) = action {
                let until = until(*older_than, filter.criteria.failed_before);
                filter.criteria.failed_before = Some(self.ask(&until).await?);
            }
            preview.count = self.count_dead_letters(&filter).await?;
            preview.dead_letters = self.dead_letters(&filter, None, 5).await?.entries;
        }
        Ok(preview)
    }

    /// The newest 1 to 100 operations (a `limit` outside this range is clamped); with an id, those
    /// before it. They are kept for 90 days after they have ended.
    pub async fn operations(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<Operation>, AdminError> {
        let limit = limit.clamp(1, 100).into();
        self.ask(&statements::operations(None, before, limit)).await
    }
}
