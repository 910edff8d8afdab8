use std::sync::Arc;
use std::time::Duration;

use super::counters::Counters;
use super::ticker::Duty;
use super::wake::Wake;
use crate::Error;
use crate::store::{Exhausted, Link, Recover, ReplayDue};

/// Jobs moved by one call.
const PAGE: i32 = 100;

/// Dead letters replayed by one call.
const REPLAYS: i32 = 500;

/// Looks after what failed for good: makes dead letters of jobs that a crash left without
/// attempts, and replays those whose kind says so, once their time has come.
///
/// If none ran for an hour, such jobs would stay where they are, and automatic replays would be
/// that much later.
pub(crate) struct Recoverer {
    pub(crate) link: Link,
    pub(crate) every: Duration,
    pub(crate) wake: Arc<Wake>,
    pub(crate) counters: Arc<Counters>,
}

impl Duty for Recoverer {
    const NAME: &'static str = "recover";

    async fn step(&mut self) -> Result<Duration, Error> {
        self.recover().await?;
        let replayed = self.link.call(&ReplayDue(REPLAYS)).await?;
        if replayed > 0 {
            tracing::info!(replayed, "jobkit.replay: replayed dead letters that were due");
            self.wake.ring();
        }
        Ok(if replayed == REPLAYS { Duration::ZERO } else { self.every })
    }

    async fn close(self) {
        self.link.close().await;
    }
}

impl Recoverer {
    /// Page by page; where one job cannot be moved, the others of its page are moved one by one.
    async fn recover(&mut self) -> Result<(), Error> {
        let (mut after, mut buried) = (0, 0);
        loop {
            let jobs = self.link.call(&Exhausted { after, limit: PAGE }).await?;
            let Some(last) = jobs.last() else { break };
            after = *last;
            buried += match self.link.call(&Recover(&jobs)).await {
                Err(error) if error.is_final() => self.recover_singly(&jobs).await?,
                answer => answer?,
            };
        }
        if buried > 0 {
            tracing::warn!(jobs = buried, "jobkit.recover: buried jobs without attempts left");
            self.counters.recovered.add(usize::try_from(buried).unwrap_or(0));
        }
        Ok(())
    }

    async fn recover_singly(&mut self, jobs: &[i64]) -> Result<i32, Error> {
        let mut buried = 0;
        for job in jobs {
            match self.link.call(&Recover(&[*job])).await {
                Err(error) if error.is_final() => {
                    tracing::error!(job.id = job, %error, "jobkit.recover: cannot bury a job");
                }
                answer => buried += answer?,
            }
        }
        Ok(buried)
    }
}
