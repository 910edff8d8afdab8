//! The progress of an attempt, and checkpoints for the next one.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::steps::encoded;
use super::{JobContext, Report, State};
use crate::error::ContextError;

impl<S> JobContext<S> {
    /// Reports the progress of this attempt: how much is done, of what total (`None` if unknown),
    /// and a note of at most 200 bytes, which may be empty. The job's page shows it as a bar with
    /// its age, as do the worker's page, the API and `jobkit jobs show`.
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
    /// It never waits: the worker's heartbeat writes the latest reports of all its jobs together.
    /// So you may call it for every row, and what is shown is at most one heartbeat old (5 s by
    /// default).
    ///
    /// The last progress of each of the last five attempts is kept for as long as the worker says
    /// ([`keep_reports`](crate::Worker::keep_reports)). If the job is not kept, neither is its
    /// progress.
    pub fn progress(&self, done: u64, total: impl Into<Option<u64>>, note: &str) {
        Report::progress(&self.attempt, done, total.into(), note);
    }

    /// Saves the position of this attempt, for the next one to read with
    /// [`last_checkpoint`](Self::last_checkpoint). The checkpoint survives failed attempts,
    /// snoozes, releases, stops and crashes, and is removed when the job ends. A later checkpoint
    /// replaces it. It is stored when this returns. It may have at most 64 KiB as JSON.
    ///
    /// The next attempt repeats what was done since the last checkpoint. So save one after its
    /// effects are committed, and make those effects safe to repeat.
    ///
    /// Each checkpoint is a transaction, and the jobs of a worker share one connection for this.
    /// Save every few seconds, or every few hundred rows, rather than after each row.
    ///
    /// The replay of a dead letter goes on at its checkpoint, unless it gets another payload.
    ///
    /// For parts that return something each, use [steps](Self::step).
    ///
    /// # Errors
    /// [`ContextError::ClaimLost`] if the job no longer belongs to this attempt: nothing is stored
    /// then, and the handler should return. [`ContextError::Checkpoint`] if the value cannot be
    /// encoded as JSON (NaN and infinity cannot); [`ContextError::Invalid`] if it is too large;
    /// [`ContextError::Database`].
    pub async fn checkpoint<T: Serialize + Sync + ?Sized>(
        &self,
        value: &T,
    ) -> Result<(), ContextError> {
        let names = ["checkpoint", "nesting of the checkpoint"];
        let json = encoded(value, names, ContextError::Checkpoint)?;
        let attempt = &self.attempt;
        let Some(reach) = &attempt.reach else {
            attempt.say(|said| said.checkpoint = Some(json));
            return Ok(());
        };
        attempt.say(|said| said.checkpointed = true);
        match reach.save_step(attempt.report.claim(), self.id(), self.attempt(), "", &json).await? {
            true => Ok(()),
            false => Err(ContextError::ClaimLost),
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
    /// It sends one statement, and only when you call it. After a deploy the type may differ from
    /// that of the binary that stored the checkpoint; as with payloads, give new fields `serde`
    /// defaults.
    ///
    /// # Errors
    /// [`ContextError::Checkpoint`] if it is not of this type; [`ContextError::Database`].
    pub async fn last_checkpoint<T: DeserializeOwned>(&self) -> Result<Option<T>, ContextError> {
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
        serde_json::from_str(&json).map(Some).map_err(ContextError::Checkpoint)
    }
}
