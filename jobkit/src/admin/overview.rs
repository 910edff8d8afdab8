//! How it stands with the whole.

use std::time::Duration;

use super::Admin;
use crate::Error;
use crate::dead_letter::Count;
use crate::observed::overview::{Attention, Overview};
use crate::store::{
    KeysAtLimit, OverviewCounts, PausedBacklogs, ReadyAge, StuckJobs, UnservedKinds, Workers,
};

/// How long a job may wait for a permit of its key without being mentioned.
const LONG_WAIT: Duration = Duration::from_secs(5 * 60);

/// How many things of a kind are mentioned.
const MOST: usize = 20;

impl Admin {
    /// How it stands with the whole. Seven statements, each of which looks at no more than some
    /// 10,000 rows of any table, by an index.
    ///
    /// # Errors
    /// As all of [`Admin`].
    pub async fn overview(&self) -> Result<Overview, Error> {
        let mut link = self.link();
        let counts = link.call(&OverviewCounts).await?;
        let ready_age = link.call(&ReadyAge).await?;
        let (blocked_age, keys) = link.call(&KeysAtLimit(LONG_WAIT)).await?;
        let mut attention = link.call(&PausedBacklogs).await?;
        let late = link.call(&Workers { late: true, ..Workers::default() }).await?;
        attention.extend(late.into_iter().take(MOST).map(Attention::LateWorker));
        attention.extend(link.call(&UnservedKinds(20)).await?);
        attention.extend(keys);
        let stuck = link.call(&StuckJobs { job: None, limit: 20 }).await?;
        attention.extend(stuck.into_iter().map(Attention::StuckJob));
        if counts.dead_lately != Count::Exactly(0) {
            attention.push(Attention::DeadLetters { lately: counts.dead_lately });
        }
        link.close().await;
        Ok(Overview {
            at: counts.at,
            ready: counts.ready,
            ready_age,
            running: counts.running,
            capacity: counts.capacity,
            scheduled: counts.scheduled,
            due_soon: counts.due_soon,
            next_run_at: counts.next_run_at,
            retrying: counts.retrying,
            blocked: counts.blocked,
            blocked_age,
            dead: counts.dead,
            attention,
        })
    }
}
