use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::error::DatabaseError;
use crate::store::{Link, interval, look_at_batches, look_at_bounds, promote};
use crate::worker::due::Due;
use crate::worker::shared::ledger::Ledger;
use crate::worker::shared::wake::Wake;
use crate::worker::ticker::Duty;

const BATCH: i32 = 1000;

/// If no worker sleeps, enqueues only notify of jobs due within this time.
const UNTOLD: Duration = Duration::from_secs(1);

/// How many tallies of batches are taken by one call.
const TALLIES: i32 = 1000;

/// How often the bounds of queues are checked …
const LOOK: Duration = Duration::from_secs(1);
/// … and no sooner than this after the last check.
const SOON: Duration = Duration::from_millis(50);

/// Makes scheduled jobs ready when their time comes.
///
/// It is independent of queues and kinds: any live worker promotes for all. It looks once a poll,
/// and when the next job that it knows of is due; enqueues (`wake_due`) and the settler announce
/// earlier ones. If none ran for an hour, delays and retries would last that much longer. Since it
/// looks anyway, it also checks which queues with a bound are full, and ends batches.
pub(crate) struct Promoter {
    pub(crate) link: Link,
    pub(crate) poll: Duration,
    pub(crate) listens: bool,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) wake: Arc<Wake>,
    pub(crate) due: Arc<Due>,
    /// How long it is until the next job is due, if that is less than a poll.
    pub(crate) next: Option<Duration>,
    /// Rung when an operation is open.
    pub(crate) operating: Arc<Notify>,
    /// Rung when a schedule is due.
    pub(crate) firing: Arc<Notify>,
}

impl Duty for Promoter {
    const NAME: &'static str = "promote";

    async fn step(&mut self) -> Result<Duration, DatabaseError> {
        self.due.looks();
        let mut promoted =
            self.link.call(&promote(BATCH, self.ledger.worker(), interval(self.poll))).await?;
        if promoted.jobs > 0 {
            self.wake.ring();
        }
        if promoted.operating {
            self.operating.notify_one();
        }
        if promoted.firing {
            self.firing.notify_one();
        }
        promoted.look_in = self.look_at_bounds(promoted.look_in).await;
        if promoted.tallied && self.look_at_batches().await {
            promoted.look_in = Some(promoted.look_in.map_or(SOON, |look_in| look_in.min(SOON)));
        }
        if promoted.jobs >= BATCH {
            return Ok(Duration::ZERO);
        }
        // Not sooner than this: a row that another session holds is due but cannot be promoted,
        // perhaps for as long as a producer's transaction is open.
        let is_held = promoted.jobs == 0 && promoted.next.is_some_and(|next| next.is_zero());
        let soonest = Duration::from_millis(if is_held { 50 } else { 5 }).min(self.poll);
        let next = promoted.next.map(|next| next.max(soonest));
        // While this worker does not sleep, enqueues only notify of what is due soon.
        let told = promoted.told || !self.listens;
        let rest = if told { self.poll } else { self.poll.min(UNTOLD) };
        let rest = promoted.look_in.map_or(rest, |look_in| rest.min(look_in));
        self.next = next.filter(|next| *next < rest);
        Ok(rest)
    }

    async fn rest(&mut self, rest: Duration) {
        // To the millisecond, if a job is due.
        self.due.rest(self.next.take().unwrap_or(rest)).await;
    }

    async fn close(self) {
        self.link.close().await;
    }
}

impl Promoter {
    /// Ends batches that have become empty, and makes their callbacks ready. Returns whether
    /// another session held some, so that it has to look again.
    async fn look_at_batches(&mut self) -> bool {
        loop {
            match self.link.call(&look_at_batches(TALLIES)).await {
                Ok(looked) => {
                    if looked.called > 0 {
                        self.wake.ring();
                    }
                    if looked.put_off > 0 || looked.tallies < TALLIES {
                        return looked.put_off > 0;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "jobkit: cannot end batches");
                    return false;
                }
            }
        }
    }

    /// Checks which queues are full, if that is due. Returns after how long the next check is.
    async fn look_at_bounds(&mut self, due_in: Option<Duration>) -> Option<Duration> {
        let due_in = due_in?;
        if !due_in.is_zero() {
            return Some(due_in.max(SOON));
        }
        if let Err(error) = self.link.call(&look_at_bounds()).await {
            tracing::warn!(%error, "jobkit: cannot check which queues are full");
        }
        Some(LOOK)
    }
}
