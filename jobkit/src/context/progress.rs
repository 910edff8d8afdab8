//! How far an attempt is, and where the next one goes on.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{JobContext, Report, State};
use crate::limits::{self, CHECKPOINT_BYTES};
use crate::{Error, exact};

impl<S> JobContext<S> {
    /// Says how far this attempt is: so much done, of so much in all (`None` where nobody knows),
    /// and a note of 200 bytes at most, which may be empty. The page of the job shows it as a bar
    /// with its age, as do the page of the worker, the API and `jobkit jobs show`.
    ///
    /// ```
    /// # use jobkit::JobContext;
    /// # async fn run(cx: JobContext, rows: Vec<String>) -> jobkit::Result {
    /// for (done, row) in (0..).zip(&rows) {
    ///     cx.progress(done, rows.len() as u64, "importing rows");
    ///     // …
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// It waits for nobody: the worker's heartbeat writes what was said last, for all of its jobs
    /// at once. So it may be called for each row, and what is shown is a heartbeat old at most (5 s
    /// by default).
    ///
    /// The last progress of each of the last five attempts is kept for as long as the worker says
    /// ([`keep_reports`](crate::Worker::keep_reports)), and with a job of which nothing is kept it
    /// goes at once.
    pub fn progress(&self, done: u64, total: impl Into<Option<u64>>, note: &str) {
        Report::progress(&self.attempt, done, total.into(), note);
    }

    /// Keeps where this attempt is, for the next one, which asks for
    /// [`last_checkpoint`](Self::last_checkpoint): it survives failed attempts, snoozes, releases,
    /// stops and crashes, and goes when the job ends. A later checkpoint takes its place. It is
    /// stored when this returns, and has 64 KiB as JSON at most.
    ///
    /// What was done since the last checkpoint is done again by the next attempt, so save it after
    /// its effects are committed, and let these bear to be repeated.
    ///
    /// Each checkpoint is a transaction. The jobs of a worker share one connection for this: save
    /// every few seconds, or every few hundred rows, rather than after each.
    ///
    /// A job that becomes a dead letter has ended: its replay is a job of its own, perhaps with
    /// another payload, and begins at the beginning.
    ///
    /// # Errors
    /// [`Error::ClaimLost`] when the job is not this attempt's any more: then nothing is stored,
    /// and the handler had better return. [`Error::Checkpoint`] when the value does not become
    /// JSON (NaN and infinity do not), [`Error::Length`] when it is too large; and those of the
    /// database.
    pub async fn checkpoint<T: Serialize + Sync + ?Sized>(&self, value: &T) -> Result<(), Error> {
        let json = serde_json::to_string(value).map_err(Error::Checkpoint)?;
        exact::finite(value, &json).map_err(Error::Checkpoint)?;
        if json.len() > CHECKPOINT_BYTES {
            let (what, bytes, limit) = ("checkpoint", json.len(), CHECKPOINT_BYTES);
            return Err(Error::Length { what, bytes, limit });
        }
        limits::json("checkpoint", "nesting of the checkpoint", &json)?;
        let attempt = &self.attempt;
        let Some(reach) = &attempt.reach else {
            attempt.say(|said| said.checkpoint = Some(json));
            return Ok(());
        };
        attempt.say(|said| said.checkpointed = true);
        match reach.checkpoint(attempt.report.claim(), self.id(), self.attempt(), &json).await? {
            true => Ok(()),
            false => Err(Error::ClaimLost),
        }
    }

    /// The last [`checkpoint`](Self::checkpoint) of this job, by this attempt or one before it;
    /// `None` when there is none.
    ///
    /// ```
    /// # use jobkit::{JobContext, JobError};
    /// # async fn import(page: u32) -> std::io::Result<()> { Ok(()) }
    /// # async fn run(cx: JobContext) -> jobkit::Result {
    /// let first: u32 = cx.last_checkpoint().await?.unwrap_or(0);
    /// for page in first..1_000 {
    ///     if cx.stop_reason().is_some() {
    ///         return Err(JobError::release());
    ///     }
    ///     import(page).await?;
    ///     cx.checkpoint(&(page + 1)).await?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// It is one statement, and only for those who ask. After a deploy the type may be another than
    /// that of the binary that stored it; as with payloads, let `serde` have defaults.
    ///
    /// # Errors
    /// [`Error::Checkpoint`] when it is not of this type; and those of the database.
    pub async fn last_checkpoint<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let json = match &self.attempt.reach {
            Some(reach) => reach.last_checkpoint(self.id()).await?,
            None => match &*self.attempt.report.said.lock() {
                State::Said(said) => said.checkpoint.clone(),
                State::Silent | State::Closed => None,
            },
        };
        let Some(json) = json else { return Ok(None) };
        if self.attempt.reach.is_some() {
            self.attempt.say(|said| said.checkpointed = true);
        }
        serde_json::from_str(&json).map(Some).map_err(Error::Checkpoint)
    }
}
