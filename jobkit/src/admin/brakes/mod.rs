//! Brakes that operators set across all workers: pauses, limits and rates.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::admin::Admin;
use crate::admin::AdminError;
use crate::error::InvalidValue;
use crate::limits::{self, LIMIT, NAME_BYTES};
use crate::store::sweep_all;

mod brake;
pub(super) mod statements;

pub use self::brake::{Brake, Pause, Scope};
pub use crate::policy::Rate;

/// How often to check whether something still runs.
const LOOK: Duration = Duration::from_millis(100);

impl Admin {
    /// What is paused, or has a limit or a rate: queues, kinds, everything. The first 500.
    pub async fn brakes(&self) -> Result<Vec<Brake>, AdminError> {
        self.ask(&statements::brakes()).await
    }

    /// Pauses a queue, a kind or everything, as [`pause`](Self::pause) does a queue: once this
    /// returns, none of its jobs starts. Running jobs continue
    /// ([`wait_until_idle`](Self::wait_until_idle) waits for them), and jobs claimed ahead are
    /// released.
    ///
    /// Returns whether it was not paused before.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the name and the reason. It gives up ([`AdminError::Database`])
    /// if claims in flight block it for two seconds.
    pub async fn pause_scope(&self, scope: &Scope, reason: &str) -> Result<bool, AdminError> {
        check(scope)?;
        limits::reason(reason)?;
        let (word, name) = (scope.word(), scope.name());
        self.ask(&statements::pause_scope(word, name, self.actor(), reason)).await
    }

    /// Resumes a queue, a kind or everything. Blocked jobs whose keys have permits left become
    /// ready at once.
    ///
    /// Returns whether it was paused.
    ///
    /// # Errors
    /// As [`pause_scope`](Self::pause_scope). After an error it may be resumed while some blocked
    /// jobs still wait: call it again, or let a worker's periodic sweep find them.
    pub async fn resume_scope(&self, scope: &Scope) -> Result<bool, AdminError> {
        check(scope)?;
        let mut link = self.link();
        let resume = statements::resume_scope(scope.word(), scope.name(), self.actor());
        let resumed = link.call(&resume).await?;
        sweep_all(&mut link).await?;
        link.close().await;
        Ok(resumed)
    }

    /// Waits until none of its jobs runs on any worker, at most this long. `progress` is called
    /// with the number of running jobs whenever that changes. Returns how many still run.
    ///
    /// Pause it first, or other jobs start. Jobs of a dead worker count as running until they are
    /// taken back.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the name.
    pub async fn wait_until_idle(
        &self,
        scope: &Scope,
        within: Duration,
        mut progress: impl FnMut(u32),
    ) -> Result<u32, AdminError> {
        check(scope)?;
        let (began, mut last) = (Instant::now(), None);
        loop {
            let look = statements::running_of(scope.word(), scope.name());
            let running = self.ask(&look).await?;
            if last.replace(running) != Some(running) {
                progress(running);
            }
            let left = within.saturating_sub(began.elapsed());
            if running == 0 || left.is_zero() {
                return Ok(running);
            }
            sleep(LOOK.min(left)).await;
        }
    }

    /// Limits how many jobs of a queue or of a kind run at a time across all workers, 1 to
    /// 1,000,000; `None` removes the limit. Running jobs continue, so after the limit was lowered
    /// more may run for a while. Jobs claimed ahead of a slot count.
    ///
    /// Returns the limit before.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the limit and the name; everything has no name. Otherwise as
    /// [`pause_scope`](Self::pause_scope).
    pub async fn limit_running(
        &self,
        scope: &Scope,
        limit: Option<u32>,
    ) -> Result<Option<u32>, AdminError> {
        limits::name("name", scope.name(), NAME_BYTES)?;
        let limit = limit.map(|limit| stored("limit", limit)).transpose()?;
        let set = statements::limit_running(scope.word(), scope.name(), limit, self.actor());
        let before = self.ask(&set).await?;
        Ok(u32::try_from(before).ok().filter(|before| *before > 0))
    }

    /// Limits how often jobs of a queue or of a kind start across all workers; `None` removes the
    /// rate. Each attempt counts. Under a rate, no job is claimed ahead of a slot.
    ///
    /// # Errors
    /// As [`limit_running`](Self::limit_running), with [`AdminError::Invalid`] for the parts of the
    /// rate.
    pub async fn limit_rate(&self, scope: &Scope, rate: Option<Rate>) -> Result<(), AdminError> {
        limits::name("name", scope.name(), NAME_BYTES)?;
        let (every, burst) = rate.map(super::rate::stored).transpose()?.unzip();
        let (word, name) = (scope.word(), scope.name());
        let count = rate.map(|_| 1);
        let set = statements::limit_rate(word, name, count, every, burst, self.actor());
        self.ask(&set).await.map(drop)
    }
}

fn check(scope: &Scope) -> Result<(), InvalidValue> {
    match scope {
        Scope::All => Ok(()),
        Scope::Kind(name) | Scope::Queue(name) => limits::name("name", name, NAME_BYTES),
    }
}

/// A number in the database's type.
fn stored(what: &'static str, number: u32) -> Result<i32, AdminError> {
    limits::range(what, number, 1..=LIMIT, "1 to 1000000")?;
    Ok(i32::try_from(number).unwrap_or(i32::MAX))
}
