use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::sleep;

use super::counters::Counters;
use super::halves;
use super::ledger::Ledger;
use super::ticker::Duty;
use super::wake::Wake;
use crate::Error;
use crate::store::{
    Exhausted, Link, NextOperation, Operate, Recover, RecoverLook, ReplayDue, StopOperation,
};

/// Jobs moved by one call.
const PAGE: i32 = 100;

/// Dead letters replayed by one call.
const REPLAYS: i32 = 500;

/// Jobs or dead letters that one step of an operation is about.
pub(crate) const STEP: i32 = 500;

/// How long to leave an operation alone that another worker has in hand.
const OPERATIONS: Duration = Duration::from_secs(1);

/// Looks after what failed for good: makes dead letters of jobs that a crash left without
/// attempts, and replays those whose kind says so, once their time has come. And does what
/// operators want done with many.
///
/// If none ran for an hour, such jobs would stay where they are, and automatic replays and
/// operations would be that much later.
pub(crate) struct Recoverer {
    pub(crate) link: Link,
    pub(crate) every: Duration,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) wake: Arc<Wake>,
    pub(crate) counters: Arc<Counters>,
    /// When it last looked, and found no more to replay.
    pub(crate) looked: Option<Instant>,
    /// The promoter looks more often, and tells of open operations.
    pub(crate) operating: Arc<Notify>,
    /// Whether one may be open.
    pub(crate) may_operate: bool,
    /// How many one step of it is about.
    pub(crate) step: i32,
    /// When it last found it in other hands.
    pub(crate) taken: Option<Instant>,
}

/// How long it is until the next look. A rest is jittered: one that ends a little early counts.
fn until_look(looked: Option<Instant>, every: Duration) -> Duration {
    match looked.map(|looked| looked.elapsed()) {
        Some(since) if since < every.mul_f64(0.9) => every - since,
        _ => Duration::ZERO,
    }
}

impl Duty for Recoverer {
    const NAME: &'static str = "recover";

    async fn step(&mut self) -> Result<Duration, Error> {
        if until_look(self.looked, self.every).is_zero() && !self.look().await? {
            return Ok(Duration::ZERO);
        }
        if self.may_operate {
            self.may_operate = self.operate().await?;
        }
        let rest = until_look(self.looked, self.every);
        Ok(if self.may_operate { Duration::ZERO } else { rest })
    }

    async fn rest(&mut self, rest: Duration) {
        tokio::select! {
            () = sleep(rest) => {}
            () = self.operating.notified() => {
                self.may_operate = true;
                let since = self.taken.map_or(OPERATIONS, |taken| taken.elapsed());
                sleep(OPERATIONS.saturating_sub(since)).await;
            }
        }
    }

    async fn close(self) {
        self.link.close().await;
    }
}

impl Recoverer {
    /// Whether all is done that was due.
    async fn look(&mut self) -> Result<bool, Error> {
        let (exhausted, replay_due, operating) = self.link.call(&RecoverLook).await?;
        self.may_operate |= operating;
        if exhausted {
            self.recover().await?;
        }
        let replayed = if replay_due { self.link.call(&ReplayDue(REPLAYS)).await? } else { 0 };
        if replayed > 0 {
            tracing::info!(replayed, "jobkit.replay: replayed dead letters that were due");
            self.wake.ring();
        }
        if replayed == REPLAYS {
            return Ok(false);
        }
        self.looked = Some(Instant::now());
        Ok(true)
    }

    /// One step of the oldest operation that is open. Whether another may follow at once.
    async fn operate(&mut self) -> Result<bool, Error> {
        let Some(id) = self.link.call(&NextOperation).await? else { return Ok(false) };
        match self.link.call(&Operate { id, limit: self.step }).await {
            Ok(Some(outcome)) => {
                self.step = (self.step * 2).min(STEP);
                self.wake.ring();
                if outcome == "done" {
                    tracing::info!(operation = id, "jobkit.operate: done");
                }
                Ok(true)
            }
            Ok(None) => {
                self.taken = Some(Instant::now());
                Ok(false)
            }
            Err(error) if error.is_final() => {
                tracing::error!(operation = id, %error, "jobkit.operate failed");
                let text = error.to_string();
                let (state, error) = ("failed", Some(&*text));
                self.link.call(&StopOperation { id, state, error, actor: None }).await?;
                Ok(true)
            }
            // One of them may be why: in smaller steps the others are done, and one that fails by
            // itself is left out.
            Err(error) if error.may_be_one_row() && self.step > 1 => {
                tracing::warn!(operation = id, %error, "jobkit.operate: goes on in smaller steps");
                self.step /= 2;
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Page by page; where one job cannot be moved, the others of its page are.
    async fn recover(&mut self) -> Result<(), Error> {
        let (mut after, mut buried) = (0, 0);
        loop {
            let jobs = self.link.call(&Exhausted { after, limit: PAGE }).await?;
            let Some(last) = jobs.last() else { break };
            after = *last;
            let stuck = halves::by_halves(&mut self.link, &jobs, &mut buried, Recover).await?;
            halves::report(&mut self.link, "recover", self.ledger.worker(), &stuck).await;
        }
        if buried > 0 {
            tracing::warn!(jobs = buried, "jobkit.recover: buried jobs without attempts left");
            self.counters.recovered.add(usize::try_from(buried).unwrap_or(0));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_that_ends_a_little_early_costs_no_second_one() {
        let every = Duration::from_secs(100);
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds));
        assert_eq!(until_look(None, every), Duration::ZERO);
        assert_eq!(until_look(ago(91), every), Duration::ZERO);
        let rest = until_look(ago(40), every);
        assert!(rest <= Duration::from_secs(60) && rest > Duration::from_secs(55), "{rest:?}");
    }
}
