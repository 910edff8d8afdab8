use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::error::DatabaseError;
use crate::schedule::{Times, decide};
use crate::store::{Decided, DueSchedule, Link, due_schedules, fire};
use crate::worker::due::Due;
use crate::worker::shared::wake::Wake;
use crate::worker::ticker::Duty;

mod review;

pub(crate) use self::review::Review;

/// Schedules fired by one call.
const BATCH: i32 = 1000;

/// How long the connection is kept for the next schedule.
const KEPT: Duration = Duration::from_secs(5);

/// How long until the next look without a wake-up.
const IDLE: Duration = Duration::from_secs(60);

/// How long until the next look if other workers hold all due schedules.
const BUSY: Duration = Duration::from_millis(100);

/// How long to leave a schedule alone that cannot be fired or read.
const PUT_OFF: Duration = Duration::from_secs(30);

/// The maximum number of parsed texts that are kept.
const MOST_READ: usize = 200;

/// The maximum number of schedules that a look leaves out.
const MOST_PUT_OFF: usize = 1000;

/// Fires the schedules that are due.
///
/// The promoter, which looks more often anyway, reports them. Any worker may fire: what two decide
/// at once is carried out once. If none ran for an hour, recurring jobs would be delayed by that,
/// and instants be skipped or fired late, as each schedule says.
pub(crate) struct Scheduler {
    pub(crate) link: Link,
    pub(crate) wake: Arc<Wake>,
    /// When the promoter looks again.
    pub(crate) due: Arc<Due>,
    /// Rung by the promoter when a schedule is due.
    pub(crate) firing: Arc<Notify>,
    /// Schedules to leave alone, and until when.
    pub(crate) put_off: HashMap<String, Instant>,
    /// Texts that were parsed recently.
    pub(crate) read: HashMap<String, Times>,
    /// Whether the last look found nothing.
    pub(crate) idle: bool,
    /// The review of schedules that are not due.
    pub(crate) review: Review,
}

impl Duty for Scheduler {
    const NAME: &'static str = "fire";

    async fn step(&mut self) -> Result<Duration, DatabaseError> {
        let now = Instant::now();
        self.put_off.retain(|_, until| *until > now);
        let but: Vec<String> = self.put_off.keys().take(MOST_PUT_OFF).cloned().collect();
        let due = self.link.call(&due_schedules(BATCH, &but, None)).await?;
        if due.is_empty() {
            if let Some(next) = self.review.look(&mut self.link).await? {
                self.due.after(next);
            }
            if !std::mem::replace(&mut self.idle, true) || !self.put_off.is_empty() {
                return Ok(KEPT.min(self.review.rest()));
            }
            self.link.disconnect().await;
            return Ok(IDLE.min(self.review.rest()));
        }
        self.idle = false;
        let now = due[0].now;
        let decided: Vec<Decided> = due.iter().filter_map(|due| self.decided(due)).collect();
        let next = decided.iter().filter_map(|decided| decided.next).min();
        let (fired, skipped) = self.fire(decided).await?;
        // The promoter looked while these were due, and does not know what comes next.
        if let Some(next) = next {
            self.due.after((next - now).to_std().unwrap_or_default());
        }
        if fired > 0 {
            self.wake.ring();
        }
        Ok(if fired + skipped > 0 { Duration::ZERO } else { BUSY })
    }

    async fn rest(&mut self, rest: Duration) {
        tokio::select! {
            () = sleep(rest) => {}
            () = self.firing.notified() => {}
        }
    }

    async fn close(self) {
        self.link.close().await;
    }
}

impl Scheduler {
    fn decided(&mut self, due: &DueSchedule) -> Option<Decided> {
        if let Some(times) = self.read.get(&due.times) {
            return Some(decide(due, times));
        }
        match due.times.parse::<Times>() {
            Ok(times) => {
                let decided = decide(due, &times);
                if self.read.len() == MOST_READ {
                    self.read.clear();
                }
                self.read.insert(due.times.clone(), times);
                Some(decided)
            }
            Err(error) => {
                // A newer binary may be able to.
                tracing::warn!(schedule = due.name, %error, "jobkit.fire: cannot read its times");
                self.put_off.insert(due.name.clone(), Instant::now() + PUT_OFF);
                None
            }
        }
    }

    /// Carries out the decisions; one that fails does not delay others. Returns how many instants
    /// were fired, and how many skipped.
    async fn fire(&mut self, decided: Vec<Decided>) -> Result<(i32, i32), DatabaseError> {
        let (mut work, mut all) = (vec![&*decided], (0, 0));
        while let Some(some) = work.pop().filter(|some| !some.is_empty()) {
            match (self.link.call(&fire(some)).await, some) {
                (Ok((fired, skipped)), _) => {
                    tracing::debug!(fired, skipped, "jobkit.fire");
                    all = (all.0 + fired, all.1 + skipped);
                }
                (Err(error), [one]) if error.may_be_one_row() => {
                    tracing::warn!(schedule = one.name, %error, "jobkit.fire failed");
                    self.put_off.insert(one.name.clone(), Instant::now() + PUT_OFF);
                }
                (Err(error), [_, _, ..]) if error.may_be_one_row() => {
                    let (first, second) = some.split_at(some.len() / 2);
                    work.extend([second, first]);
                }
                (Err(error), _) => return Err(error),
            }
        }
        Ok(all)
    }
}
