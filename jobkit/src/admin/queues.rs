//! Pausing queues.

use chrono::{DateTime, Utc};

use super::Admin;
use crate::Error;
use crate::limits::{self, NAME_BYTES};
use crate::store::{Pause, PausedQueues, Resume, sweep_all};

/// A queue of which no job starts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PausedQueue {
    /// Its name.
    pub queue: String,
    /// Since when, by the database's clock.
    pub since: DateTime<Utc>,
    /// Who paused it; `None` when it was paused from SQL without saying so.
    pub actor: Option<String>,
    /// Why; `None` when it was paused from SQL without saying so.
    pub reason: Option<String>,
}

impl Admin {
    /// Pauses a queue (1 to 128 bytes): once this returns no job of it starts. What runs goes on
    /// running; jobs that hold a permit of their key and wait give it to others. `actor` and
    /// `reason` are free text for those who ask later, of which 16 KiB are kept. An empty `actor`
    /// is the one of [`acting_as`](Self::acting_as).
    ///
    /// Returns whether the queue was not paused before; if it was, it keeps its time and takes the
    /// new actor and reason.
    ///
    /// # Errors
    /// As all of [`Admin`], and [`Error::Length`] and [`Error::Nul`] for the queue's name. It
    /// gives up ([`Error::Database`]) when claims in flight hold it up for two seconds.
    pub async fn pause(&self, queue: &str, actor: &str, reason: &str) -> Result<bool, Error> {
        limits::name("queue", queue, NAME_BYTES)?;
        let actor = if actor.is_empty() { self.actor().unwrap_or("") } else { actor };
        let (actor, reason) = (&*limits::clean(actor), &*limits::clean(reason));
        self.ask(&Pause { queue, actor, reason }).await
    }

    /// Resumes a queue. Its blocked jobs whose keys have permits left become ready at once.
    ///
    /// Returns whether it was paused.
    ///
    /// # Errors
    /// As [`pause`](Self::pause). After an error the queue may be resumed and some blocked jobs
    /// still wait: call it again, or let a worker's periodic sweep find them.
    pub async fn resume(&self, queue: &str) -> Result<bool, Error> {
        limits::name("queue", queue, NAME_BYTES)?;
        let mut link = self.link();
        let resumed = link.call(&Resume(queue)).await?;
        // Even when it was not paused: an earlier call may have got no further than this.
        let unblocked = sweep_all(&mut link).await?;
        link.close().await;
        tracing::debug!(queue, resumed, unblocked, "jobkit.resume");
        Ok(resumed)
    }

    /// The paused queues, by name.
    ///
    /// # Errors
    /// As all of [`Admin`].
    pub async fn paused(&self) -> Result<Vec<PausedQueue>, Error> {
        let rows = self.ask(&PausedQueues).await?;
        let paused = |(queue, since, actor, reason)| PausedQueue { queue, since, actor, reason };
        Ok(rows.into_iter().map(paused).collect())
    }
}
