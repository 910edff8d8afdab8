//! Concurrency keys: their permit holders and blocked jobs.

use chrono::{DateTime, Utc};

use crate::JobId;
use crate::admin::count::count;
use crate::admin::{Admin, AdminError, Count};
use crate::error::InvalidValue;
use crate::limits::{self, KEY_BYTES, NAME_BYTES};
use crate::policy::Rate;

pub(super) mod statements;

/// A concurrency key with a permit taken, a blocked job or its own limit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Semaphore {
    /// Its group.
    pub group: String,
    /// The key.
    pub key: String,
    /// How many of its jobs may run at a time; 0 stops it.
    pub limit: u32,
    /// An operator's limit for this key, which overrides that of its group.
    pub override_limit: Option<u32>,
    /// How often its jobs may start.
    pub rate: Option<Rate>,
    /// Whether an operator has set the rate for this key.
    pub has_own_rate: bool,
    /// When its pause ends, if it is paused.
    pub paused_until: Option<DateTime<Utc>>,
    /// When the next of its blocked jobs may start, if that depends only on time; for a limiter,
    /// when its next slot is free, unless it is free now.
    pub next_at: Option<DateTime<Utc>>,
    /// Permits taken by running jobs and by ready jobs that are about to run. May exceed the limit
    /// after the limit was lowered.
    pub taken: u32,
    /// Jobs that wait for a permit, counted up to 10,000.
    pub blocked: u32,
    /// When the oldest of the first 10,000 blocked jobs began to wait.
    pub blocked_since: Option<DateTime<Utc>>,
}

/// A job that holds a permit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PermitHolder {
    /// The job.
    pub job: JobId,
    /// The worker that runs it; `None` while it is ready.
    pub worker: Option<i64>,
    /// When it got the permit.
    pub since: DateTime<Utc>,
}

/// A job that waits for a permit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockedJob {
    /// The job.
    pub job: JobId,
    /// Its kind.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// Its priority, −3 to 3; smaller goes first.
    pub priority: i16,
    /// When it became blocked.
    pub since: DateTime<Utc>,
}

/// A concurrency key with its permit holders and blocked jobs. The parts are read one after the
/// other, so a change in between may show in one part and not in another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SemaphoreDetail {
    /// Its numbers.
    pub semaphore: Semaphore,
    /// The first 100 permit holders, in the order in which they got their permits.
    pub holders: Vec<PermitHolder>,
    /// The first 100 blocked jobs, in the order in which they get permits.
    pub blocked: Vec<BlockedJob>,
}

/// Which semaphores [`Admin::semaphores`] lists: those that meet every condition set here.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SemaphoreFilter {
    group: Option<String>,
    at_limit: bool,
    blocked: bool,
}

impl SemaphoreFilter {
    /// Every semaphore.
    #[must_use]
    pub fn all() -> Self {
        Self { group: None, at_limit: false, blocked: false }
    }

    /// Only those of this group; 1 to 128 bytes.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// Only those with no permit left.
    #[must_use]
    pub fn at_limit(mut self) -> Self {
        self.at_limit = true;
        self
    }

    /// Only those with blocked jobs.
    #[must_use]
    pub fn blocked(mut self) -> Self {
        self.blocked = true;
        self
    }
}

fn check(group: &str, key: &str) -> Result<(), InvalidValue> {
    limits::name("concurrency group", group, NAME_BYTES)?;
    limits::text("concurrency key", key, KEY_BYTES)
}

impl Admin {
    /// A page of 1 to 500 semaphores, ordered by the bytes of group and key. The next page begins
    /// `after` the group and the key of the last one on this page.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the size of the page, groups and keys.
    pub async fn semaphores(
        &self,
        filter: &SemaphoreFilter,
        after: Option<(&str, &str)>,
        limit: u32,
    ) -> Result<Vec<Semaphore>, AdminError> {
        limits::range("size of the page", limit, 1..=500, "1 to 500")?;
        let group = filter.group.as_deref();
        for (group, key) in group.map(|group| (group, "")).into_iter().chain(after) {
            check(group, key)?;
        }
        let (after, limit) = (after.unwrap_or_default(), limit.into());
        let (at_limit, blocked) = (filter.at_limit, filter.blocked);
        let page = statements::semaphores(after.0, after.1, limit, group, None, at_limit, blocked);
        let mut link = self.list_link();
        let semaphores = link.call(&page).await?;
        link.close().await;
        Ok(semaphores)
    }

    /// One semaphore, with its permit holders and blocked jobs; `None` if the key has no permit
    /// taken, no blocked job and no limit of its own.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the group and the key.
    pub async fn semaphore(
        &self,
        group: &str,
        key: &str,
    ) -> Result<Option<SemaphoreDetail>, AdminError> {
        check(group, key)?;
        let mut link = self.list_link();
        let only = statements::semaphores("", "", 1, Some(group), Some(key), false, false);
        let semaphore = link.call(&only).await?.pop();
        let holders = link.call(&statements::permits_held(group, key)).await?;
        let blocked = link.call(&statements::first_blocked(group, key)).await?;
        link.close().await;
        Ok(semaphore.map(|semaphore| SemaphoreDetail { semaphore, holders, blocked }))
    }

    /// How many keys are paused, among the 10,000 that have waited for time to pass the longest;
    /// [`Count::AtLeast`] if there are more of these.
    pub async fn paused_keys(&self) -> Result<Count, AdminError> {
        let (paused, looked_at) = self.ask(&statements::keys_paused()).await?;
        Ok(count(paused, looked_at > 10_000))
    }
}
