//! Transitions of all jobs that a filter means, page by page.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{Admin, let_hands_change};
use crate::Error;
use crate::limits::{self, KEY_BYTES, NAME_BYTES};
use crate::store::{Act, CancelMark, CancelTake, JobsPage, LastJob, Link, Reschedule};
use crate::summary::State;

/// Which live jobs a bulk call means: those for which everything set here is so.
///
/// ```
/// use jobkit::{JobFilter, State};
///
/// let stuck = JobFilter::all().queue("mail").state(State::Blocked);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JobFilter {
    kind: Option<String>,
    queue: Option<String>,
    state: Option<State>,
    group: Option<String>,
    key: Option<String>,
    tag: Option<String>,
}

impl JobFilter {
    /// Every live job there is. Narrow it down, unless that is what you mean.
    #[must_use]
    pub fn all() -> Self {
        Self { kind: None, queue: None, state: None, group: None, key: None, tag: None }
    }

    /// Only jobs of this stored kind; 1 to 128 bytes.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Only jobs of this queue; 1 to 128 bytes.
    #[must_use]
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = Some(queue.into());
        self
    }

    /// Only jobs in this state when they are looked at: one that gets the permit of another that
    /// this very call ended may be met as ready. No live job is finished or dead.
    #[must_use]
    pub fn state(mut self, state: State) -> Self {
        self.state = Some(state);
        self
    }

    /// Only jobs with a key of this concurrency group; 1 to 128 bytes.
    #[must_use]
    pub fn concurrency_group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Only jobs with this concurrency key, of whatever group; at most 512 bytes.
    #[must_use]
    pub fn concurrency_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Only jobs with this tag among theirs; 1 to 128 bytes.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    fn check(&self) -> Result<(), Error> {
        let names = [
            ("kind", &self.kind),
            ("queue", &self.queue),
            ("concurrency group", &self.group),
            ("tag", &self.tag),
        ];
        for (what, name) in names {
            name.as_ref().map_or(Ok(()), |name| limits::name(what, name, NAME_BYTES))?;
        }
        limits::text("concurrency key", self.key.as_deref().unwrap_or(""), KEY_BYTES)
    }

    /// Itself, for the audit.
    fn described(&self) -> Value {
        json!({
            "kind": self.kind,
            "queue": self.queue,
            "state": self.state.map(State::as_str),
            "group": self.group,
            "key": self.key,
            "tag": self.tag,
        })
    }
}

/// What became of the jobs of [`Admin::cancel_all`] or [`Admin::discard_all`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CancelCounts {
    /// Live jobs that the filter meant: all that follow, together.
    pub matched: u64,
    /// Those that have ended: as asked, or by themselves just then.
    pub ended: u64,
    /// Those that run: their workers have been asked, and they end as cancelled unless they
    /// succeed.
    pub requested: u64,
}

/// What became of the jobs of [`Admin::reschedule_all`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RescheduleCounts {
    /// Live jobs that the filter meant: all that follow, together.
    pub matched: u64,
    /// Those that have their new time.
    pub moved: u64,
    /// Those that run, are marked as cancelled, or have ended just then: they stay as they are.
    pub refused: u64,
}

/// The jobs that a filter means, 500 at a time in the order of their ids, up to the highest id
/// there was at the beginning: none is met twice, and what is enqueued later is not met.
struct Pages<'a> {
    filter: &'a JobFilter,
    after: Option<i64>,
    up_to: i64,
}

impl<'a> Pages<'a> {
    async fn begin(link: &mut Link, filter: &'a JobFilter) -> Result<Self, Error> {
        let last = link.call(&LastJob).await?;
        Ok(Self { filter, after: last.map(|_| i64::MIN), up_to: last.unwrap_or(0) })
    }

    async fn next(&mut self, link: &mut Link) -> Result<Option<Vec<i64>>, Error> {
        while let Some(after) = self.after {
            let filter = self.filter;
            let page = JobsPage {
                after,
                up_to: self.up_to,
                kind: filter.kind.as_deref(),
                queue: filter.queue.as_deref(),
                group: filter.group.as_deref(),
                key: filter.key.as_deref(),
                tag: filter.tag.as_deref(),
                state: filter.state.map(State::as_str),
            };
            let (jobs, last) = link.call(&page).await?;
            self.after = last;
            if !jobs.is_empty() {
                return Ok(Some(jobs));
            }
        }
        Ok(None)
    }
}

impl Admin {
    /// Cancels every job that the filter means; each as [`cancel`](Self::cancel) does.
    ///
    /// It takes its time over many jobs: 500 at a time are marked, then taken, and each of the two
    /// is committed by itself. Progress is traced at level debug, the sum at info.
    ///
    /// # Errors
    /// As all of [`Admin`]; and [`Error::Length`] and [`Error::Nul`] for the texts of the filter,
    /// before anything is done. After another error what was done stays done: call it again.
    pub async fn cancel_all(&self, filter: &JobFilter) -> Result<CancelCounts, Error> {
        self.end_all(filter, "cancel", "cancelled").await
    }

    /// Discards every job that the filter means; each as [`discard`](Self::discard) does, and
    /// together as [`cancel_all`](Self::cancel_all) does.
    ///
    /// # Errors
    /// As [`cancel_all`](Self::cancel_all).
    pub async fn discard_all(
        &self,
        filter: &JobFilter,
        reason: &str,
    ) -> Result<CancelCounts, Error> {
        self.end_all(filter, "discard", &limits::clean(reason)).await
    }

    async fn end_all(
        &self,
        filter: &JobFilter,
        outcome: &'static str,
        reason: &str,
    ) -> Result<CancelCounts, Error> {
        filter.check()?;
        let mut link = self.link();
        let mut counts = CancelCounts::default();
        let detail = json!({
            "filter": filter.described(),
            "reason": (outcome == "discard").then_some(reason),
        });
        let act = Act { actor: self.actor(), detail: &detail };
        let mut pages = Pages::begin(&mut link, filter).await?;
        while let Some(jobs) = pages.next(&mut link).await? {
            let mark = CancelMark { jobs: &jobs, action: outcome, act };
            let mut left = link.call(&mark).await?;
            let matched = left.len();
            for attempt in 0..Self::TRIES {
                let_hands_change(attempt).await;
                let take = CancelTake { jobs: &left, outcome, reason };
                let ended: HashSet<i64> = link.call(&take).await?.into_iter().collect();
                left.retain(|job| !ended.contains(job));
                if left.is_empty() {
                    break;
                }
            }
            counts.matched += matched as u64;
            counts.ended += (matched - left.len()) as u64;
            counts.requested += left.len() as u64;
            let last = jobs.last();
            tracing::debug!(
                outcome,
                matched,
                requested = left.len(),
                last,
                "jobkit.cancel: a page"
            );
        }
        link.close().await;
        let CancelCounts { matched, ended, requested } = counts;
        tracing::info!(outcome, matched, ended, requested, "jobkit.cancel: all done");
        Ok(counts)
    }

    /// Gives every waiting job that the filter means another time; each as
    /// [`reschedule`](Self::reschedule) does, 500 in one transaction. Progress is traced at level
    /// debug, the sum at info.
    ///
    /// # Errors
    /// As [`cancel_all`](Self::cancel_all).
    pub async fn reschedule_all(
        &self,
        filter: &JobFilter,
        at: Option<DateTime<Utc>>,
    ) -> Result<RescheduleCounts, Error> {
        filter.check()?;
        let run_at = at.map(limits::run_at).transpose()?;
        let mut link = self.link();
        let mut counts = RescheduleCounts::default();
        let detail = json!({ "filter": filter.described() });
        let act = Act { actor: self.actor(), detail: &detail };
        let mut pages = Pages::begin(&mut link, filter).await?;
        while let Some(mut left) = pages.next(&mut link).await? {
            let (matched, last) = (left.len(), left.last().copied());
            for attempt in 0..Self::TRIES {
                let_hands_change(attempt).await;
                let moved = link.call(&Reschedule { jobs: &left, run_at, act }).await?;
                let moved: HashSet<i64> = moved.into_iter().collect();
                left.retain(|job| !moved.contains(job));
                if left.is_empty() {
                    break;
                }
            }
            counts.matched += matched as u64;
            counts.moved += (matched - left.len()) as u64;
            counts.refused += left.len() as u64;
            tracing::debug!(matched, refused = left.len(), last, "jobkit.reschedule: a page");
        }
        link.close().await;
        let RescheduleCounts { matched, moved, refused } = counts;
        tracing::info!(matched, moved, refused, "jobkit.reschedule: all done");
        Ok(counts)
    }
}
