//! Replays: a dead letter becomes a job again.

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;
use tokio::time::Instant;

use super::{Admin, DeadLetterFilter};
use crate::dead_letter::{DeadLetter, DeadLetterId, DeadLetterState};
use crate::enqueue;
use crate::limits::{self, ATTEMPTS, NAME_BYTES, PAYLOAD_BYTES};
use crate::registry::Registry;
use crate::store::{
    Link, Otherwise, ReplayDeadLetter, ReplayPage, Stretch, Until, WholeDeadLetters,
};
use crate::{Error, JobId};

/// Why a dead letter was not replayed. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A job replays it already: somebody else was faster, or it replayed by itself.
    #[error("the dead letter is already replayed by job {0}")]
    AlreadyReplayed(JobId),
    /// A replay has succeeded.
    #[error("the dead letter was resolved by job {0}")]
    Resolved(JobId),
    /// There is no such dead letter: it never was, or was removed.
    #[error("there is no such dead letter")]
    NotFound,
    /// The new payload is none for this kind of job.
    #[error("{0}")]
    Undecodable(String),
    /// Anything else. [`Error::Busy`] when somebody's open transaction has had the dead letter in
    /// hand for a second; [`Error::Length`], [`Error::Nul`] and [`Error::Range`] for what the job
    /// should have instead; otherwise as all of [`Admin`].
    #[error(transparent)]
    Failed(#[from] Error),
}

type Replaying<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// A dead letter that is about to be replayed, see [`Admin::replay`].
#[derive(Debug)]
#[must_use = "nothing is replayed until this is awaited"]
pub struct Replay<'a> {
    admin: &'a Admin,
    id: DeadLetterId,
    otherwise: Otherwise,
}

impl Replay<'_> {
    /// The queue to wait in instead of the old one; 1 to 128 bytes.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.otherwise.queue = Some(queue.into());
        self
    }

    /// Runs the job no earlier than at this time, instead of at once; a time in the past means now.
    pub fn run_at(mut self, time: DateTime<Utc>) -> Self {
        self.otherwise.run_at = Some(time);
        self
    }

    /// Runs the job with this payload instead of the stored one, which the dead letter keeps unless
    /// the job fails again. At most 1 MiB as JSON, with the metadata.
    ///
    /// When this process has the kind linked the payload must decode into its type, and the job
    /// gets the concurrency key that belongs to it; otherwise it is taken as it is, and the job has
    /// the old key. The dead-letter key stays what it was in any case.
    pub fn args(mut self, args: Value) -> Self {
        self.otherwise.args = Some(args);
        self
    }

    /// How many attempts the job gets instead of as many as the old one, 1 to 1000.
    pub fn attempts(mut self, attempts: u16) -> Self {
        self.otherwise.max_attempts = Some(attempts);
        self
    }

    async fn run(mut self) -> Result<JobId, ReplayError> {
        self.otherwise.run_at = self.otherwise.run_at.map(limits::run_at).transpose()?;
        let Otherwise { queue, max_attempts, .. } = &self.otherwise;
        queue.as_ref().map_or(Ok(()), |queue| limits::name("queue", queue, NAME_BYTES))?;
        limits::range("number of attempts", max_attempts.unwrap_or(1), ATTEMPTS, "1 to 1000")?;
        let mut link = self.admin.link();
        if let Some(args) = &self.otherwise.args {
            let text = args.to_string();
            payload(&text, 0)?;
            let entry = link.call(&WholeDeadLetters(&[self.id.0])).await?.pop();
            let entry = entry.ok_or(ReplayError::NotFound)?;
            self.otherwise.concurrency = concurrency(&entry, &text)?;
        }
        let actor = self.admin.actor();
        let call = ReplayDeadLetter { id: self.id.0, actor, otherwise: &self.otherwise };
        let (outcome, job) = link.call(&call).await.map_err(Error::or_busy)?;
        link.close().await;
        match (&*outcome, job.map(JobId)) {
            ("replay", Some(job)) => Ok(job),
            ("already", Some(job)) => Err(ReplayError::AlreadyReplayed(job)),
            ("resolved", Some(job)) => Err(ReplayError::Resolved(job)),
            _ => Err(ReplayError::NotFound),
        }
    }
}

impl<'a> IntoFuture for Replay<'a> {
    type Output = Result<JobId, ReplayError>;
    type IntoFuture = Replaying<'a, JobId, ReplayError>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Checks a payload, beside so many bytes of metadata, as enqueueing would.
fn payload(text: &str, metadata: usize) -> Result<(), Error> {
    let bytes = text.len() + metadata;
    if bytes > PAYLOAD_BYTES {
        return Err(Error::Length { what: "payload", bytes, limit: PAYLOAD_BYTES });
    }
    limits::json("payload", "nesting of the payload", text)
}

/// The concurrency group and key that belong to a new payload, if its kind is linked.
fn concurrency(entry: &DeadLetter, text: &str) -> Result<Option<[Option<String>; 2]>, ReplayError> {
    payload(text, entry.metadata.as_ref().map_or(0, |metadata| metadata.reveal().len()))?;
    let registry = Registry::linked();
    let Some(registration) = registry.get(&entry.summary.kind) else { return Ok(None) };
    let key = registration.key_of(text.as_bytes()).map_err(ReplayError::Undecodable)?;
    let key = enqueue::key("concurrency key", key)?;
    let keyed = registration.policy().concurrency.zip(key);
    Ok(Some(match keyed {
        Some((concurrency, key)) => [Some(concurrency.group.to_owned()), Some(key)],
        None => [None, None],
    }))
}

/// How far [`Admin::replay_all`] has come; and in the end, what it came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayCounts {
    /// Those that are jobs again.
    pub replayed: u64,
    /// Those that somebody else had in hand, or that were not open any more: they stay.
    pub skipped: u64,
    /// Those whose job would be a second one where there may only be one: they stay. None is,
    /// while no job is unique.
    pub conflicts: u64,
}

/// Told how far it has come after each page.
type Progress<'a> = Box<dyn FnMut(ReplayCounts) + Send + 'a>;

/// Dead letters that are about to be replayed, see [`Admin::replay_all`].
#[must_use = "nothing is replayed until this is awaited"]
pub struct ReplayAll<'a> {
    admin: &'a Admin,
    filter: &'a DeadLetterFilter,
    per_second: Option<u32>,
    progress: Option<Progress<'a>>,
}

impl fmt::Debug for ReplayAll<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayAll")
            .field("filter", self.filter)
            .field("per_second", &self.per_second)
            .finish_non_exhaustive()
    }
}

impl<'a> ReplayAll<'a> {
    /// Replays no more than this many in a second, 1 to 1,000,000, for the sake of what their jobs
    /// will call; otherwise as many as it can.
    pub fn per_second(mut self, number: u32) -> Self {
        self.per_second = Some(number);
        self
    }

    /// Calls this after each page with the sums so far.
    pub fn progress(mut self, told: impl FnMut(ReplayCounts) + Send + 'a) -> Self {
        self.progress = Some(Box::new(told));
        self
    }

    /// Dead letters of a page: no more than a second's worth.
    fn page_size(&self) -> i32 {
        const PAGE: i32 = 500;
        self.per_second.map_or(PAGE, |number| i32::try_from(number).unwrap_or(PAGE).min(PAGE))
    }

    async fn run(mut self) -> Result<ReplayCounts, Error> {
        self.filter.check()?;
        let rate = self.per_second.unwrap_or(1);
        limits::range("rate", rate, 1..=1_000_000, "1 to 1000000")?;
        let meant = &self.filter.meant;
        let mut counts = ReplayCounts::default();
        if meant.state != DeadLetterState::Open {
            return Ok(counts);
        }
        let mut link = self.admin.link();
        let before = meant.failed_before;
        let until = link.call(&Until { ago: Duration::ZERO, before }).await?;
        let (limit, actor) = (self.page_size(), self.admin.actor());
        let mut stretch = Stretch { meant, until, after: None, limit, actor };
        let mut next_at = Instant::now();
        loop {
            self.next_page(&mut link, &mut stretch, &mut counts).await?;
            if stretch.after.is_none() {
                break;
            }
            if let Some(number) = self.per_second {
                next_at += Duration::from_secs(1).mul_f64(f64::from(limit) / f64::from(number));
                tokio::time::sleep_until(next_at).await;
            }
        }
        link.close().await;
        let ReplayCounts { replayed, skipped, conflicts } = counts;
        tracing::info!(replayed, skipped, conflicts, "jobkit.replay: all done");
        Ok(counts)
    }

    async fn next_page(
        &mut self,
        link: &mut Link,
        stretch: &mut Stretch<'_>,
        counts: &mut ReplayCounts,
    ) -> Result<(), Error> {
        let page = link.call(&ReplayPage(*stretch)).await?;
        stretch.after = page.next;
        counts.replayed += page.done;
        counts.skipped += page.skipped;
        tracing::debug!(replayed = page.done, skipped = page.skipped, "jobkit.replay: a page");
        if let Some(told) = &mut self.progress {
            told(*counts);
        }
        Ok(())
    }
}

impl<'a> IntoFuture for ReplayAll<'a> {
    type Output = Result<ReplayCounts, Error>;
    type IntoFuture = Replaying<'a, ReplayCounts, Error>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl Admin {
    /// Replays a dead letter: makes a job of it, with all its attempts again. Await it, or say
    /// first what the job should have instead of what is stored.
    ///
    /// It happens once: whoever calls it again, or at the same time, is told of the job that was
    /// made. When that job succeeds the dead letter is resolved; when it fails, or is cancelled or
    /// discarded, the dead letter is open again, with the history of both.
    ///
    /// ```no_run
    /// # use jobkit::{Admin, DeadLetterId, ReplayError};
    /// # async fn f(admin: Admin, id: DeadLetterId) -> Result<(), ReplayError> {
    /// let job = admin.replay(id).await?;
    /// // or
    /// let args = serde_json::json!({"account": "account-7", "cents": 100});
    /// match admin.replay(id).queue("slow").args(args).attempts(1).await {
    ///     Err(ReplayError::AlreadyReplayed(other)) => assert_eq!(other, job),
    ///     other => println!("{other:?}"),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ReplayError`] says which.
    pub fn replay(&self, id: DeadLetterId) -> Replay<'_> {
        Replay { admin: self, id, otherwise: Otherwise::default() }
    }

    /// Replays all open dead letters that the filter means and that failed before this call, the
    /// oldest failure first; each as [`replay`](Self::replay) does.
    ///
    /// Up to 500 become jobs in one transaction, with an entry in the [`audit`](Self::audit). To
    /// stop, drop the future: what is committed stays, the rest is as it was.
    ///
    /// ```no_run
    /// # use jobkit::{Admin, DeadLetterFilter};
    /// # async fn f(admin: Admin) -> Result<(), jobkit::Error> {
    /// let filter = DeadLetterFilter::all().kind("charge_card");
    /// let told = |counts: jobkit::ReplayCounts| println!("{} so far", counts.replayed);
    /// let counts = admin.replay_all(&filter).per_second(50).progress(told).await?;
    /// println!("{} in all, {} were in other hands", counts.replayed, counts.skipped);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As all of [`Admin`]; [`Error::Length`] and [`Error::Nul`] for the texts of the filter, and
    /// [`Error::Range`] for the rate, before anything is done. After another error what was done
    /// stays done: call it again.
    pub fn replay_all<'a>(&'a self, filter: &'a DeadLetterFilter) -> ReplayAll<'a> {
        ReplayAll { admin: self, filter, per_second: None, progress: None }
    }
}
