use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::sleep;

use crate::Error;
use crate::operating::{Stepped, Steps};
use crate::store::{Link, exhausted, next_operation, recover, recover_look, replay_due};
use crate::worker::claim::wake::Wake;
use crate::worker::counters::Counters;
use crate::worker::halves;
use crate::worker::settle::ledger::Ledger;
use crate::worker::ticker::Duty;

/// Jobs moved by one call.
const PAGE: i32 = 100;

/// Dead letters replayed by one call.
const REPLAYS: i32 = 500;

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
    pub(crate) steps: Steps,
    /// When to look again after one that rests, or that another has in hand.
    pub(crate) resumes: Option<Instant>,
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
        Ok(match (self.may_operate, self.resumes) {
            (true, _) => Duration::ZERO,
            (false, Some(resumes)) => resumes.saturating_duration_since(Instant::now()),
            (false, None) => until_look(self.looked, self.every),
        })
    }

    async fn rest(&mut self, rest: Duration) {
        tokio::select! {
            () = sleep(rest) => {}
            () = self.operating.notified() => {
                if let Some(resumes) = self.resumes {
                    sleep(resumes.saturating_duration_since(Instant::now())).await;
                }
                self.may_operate = true;
            }
        }
        self.may_operate |= self.resumes.is_some_and(|resumes| resumes <= Instant::now());
    }

    async fn close(self) {
        self.link.close().await;
    }
}

impl Recoverer {
    /// Whether all is done that was due.
    async fn look(&mut self) -> Result<bool, Error> {
        let (has_exhausted, is_due, operating) = self.link.call(&recover_look()).await?;
        self.may_operate |= operating;
        if has_exhausted {
            self.recover().await?;
        }
        let replayed = if is_due { self.link.call(&replay_due(REPLAYS)).await? } else { 0 };
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
        self.resumes = None;
        let Some((id, rests)) = self.link.call(&next_operation(None)).await? else {
            return Ok(false);
        };
        let stepped = match rests.is_zero() {
            true => self.steps.take(&mut self.link, id).await?,
            false => Stepped::Busy,
        };
        if stepped == Stepped::Busy {
            let rests = if rests.is_zero() { OPERATIONS } else { rests.min(OPERATIONS) };
            self.resumes = Some(Instant::now() + rests);
            return Ok(false);
        }
        self.wake.ring();
        Ok(true)
    }

    /// Page by page; where one job cannot be moved, the others of its page are.
    async fn recover(&mut self) -> Result<(), Error> {
        let (mut after, mut buried) = (0, 0);
        loop {
            let jobs = self.link.call(&exhausted(after, PAGE)).await?;
            let Some(last) = jobs.last() else { break };
            after = *last;
            let stuck = halves::by_halves(&mut self.link, &jobs, &mut buried, recover).await?;
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
