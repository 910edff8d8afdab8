//! Actions on selected jobs or dead letters.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::operation::Preview;
use crate::admin::AdminError;
use crate::admin::dead_letters::statements::dead_letters_of;
use crate::admin::dead_letters::{DeadLetterId, DeadLetterState, DeadLetterSummary};
use crate::admin::jobs::statements::{JobsList, jobs_list, live_of};
use crate::admin::jobs::{JobQuery, Listing};
use crate::admin::{Admin, Count};
use crate::error::InvalidValue;
use crate::store::number;
use crate::{JobId, limits};

/// An action on 1 to 500 jobs or dead letters, named by id.
///
/// They may have changed since. Those on which the action is no longer possible are skipped: a job
/// that has ended, or a dead letter that is no longer open.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Selected {
    /// Cancels these jobs, each as [`JobRef::cancel`](crate::admin::jobs::JobRef::cancel) does.
    Cancel(Vec<JobId>),
    /// Discards these jobs, each as [`JobRef::discard`](crate::admin::jobs::JobRef::discard) does.
    Discard(Vec<JobId>),
    /// Reschedules these jobs, `None` for now, each as
    /// [`JobRef::reschedule`](crate::admin::jobs::JobRef::reschedule) does.
    Reschedule(Vec<JobId>, Option<DateTime<Utc>>),
    /// Replays these dead letters, each as
    /// [`DeadLetterRef::replay`](crate::admin::dead_letters::DeadLetterRef::replay) does.
    Replay(Vec<DeadLetterId>),
    /// Removes these dead letters, each as
    /// [`DeadLetterRef::discard`](crate::admin::dead_letters::DeadLetterRef::discard) does.
    DiscardDeadLetters(Vec<DeadLetterId>),
}

impl Selected {
    pub(super) fn verb(&self) -> &'static str {
        match self {
            Self::Cancel(_) => "cancel",
            Self::Discard(_) => "discard",
            Self::Reschedule(..) => "reschedule",
            Self::Replay(_) => "replay",
            Self::DiscardDeadLetters(_) => "discard_dead_letters",
        }
    }

    /// The ids, each once.
    fn ids(&self) -> Vec<i64> {
        let mut ids: Vec<i64> = match self {
            Self::Cancel(jobs) | Self::Discard(jobs) | Self::Reschedule(jobs, _) => {
                jobs.iter().map(|id| id.0).collect()
            }
            Self::Replay(entries) | Self::DiscardDeadLetters(entries) => {
                entries.iter().map(|id| id.0).collect()
            }
        };
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The stored form. Ids are strings, since many programs parse numbers as floats.
    pub(super) fn filter(&self) -> Value {
        let ids: Vec<_> = self.ids().iter().map(i64::to_string).collect();
        json!({ "ids": ids })
    }

    pub(super) fn check(&self) -> Result<(), InvalidValue> {
        limits::range("number of selected ids", self.ids().len(), 1..=500, "1 to 500")
    }
}

impl Admin {
    pub(super) async fn preview_selected(
        &self,
        selected: &Selected,
    ) -> Result<Preview, AdminError> {
        let ids = selected.ids();
        match selected {
            Selected::Replay(_) | Selected::DiscardDeadLetters(_) => {
                let replay = matches!(selected, Selected::Replay(_));
                let mut entries = self.ask(&dead_letters_of(&ids)).await?;
                entries.retain(|entry| can(replay, entry));
                let count = Count::Exactly(number(entries.len()));
                entries.truncate(5);
                Ok(Preview { count, jobs: Vec::new(), dead_letters: entries })
            }
            _ => self.preview_jobs(&ids).await,
        }
    }

    async fn preview_jobs(&self, ids: &[i64]) -> Result<Preview, AdminError> {
        let mut link = self.list_link();
        let live = link.call(&live_of(ids)).await?;
        let mut jobs = Vec::with_capacity(5);
        for id in live.iter().take(5) {
            let query = &JobQuery { id: Some(JobId(*id)), ..JobQuery::default() };
            let list = JobsList { listing: Listing::Live, query, place: None, window: 1, rows: 1 };
            jobs.append(&mut link.call(&jobs_list(&list)).await?.jobs);
        }
        link.close().await;
        let count = Count::Exactly(number(live.len()));
        Ok(Preview { count, jobs, dead_letters: Vec::new() })
    }
}

/// Whether it can be replayed or, otherwise, discarded.
fn can(replay: bool, entry: &DeadLetterSummary) -> bool {
    match entry.state {
        DeadLetterState::Open => true,
        DeadLetterState::Resolved => !replay,
        DeadLetterState::Replaying => false,
    }
}
