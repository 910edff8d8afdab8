use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{Change, Limit, Limited, Scope, statements};
use crate::admin::{Admin, AdminError};
use crate::limits;
use crate::store::{Call, interval, sweep_all};

/// How often to check whether something still runs.
const LOOK: Duration = Duration::from_millis(100);

/// The limit and the pause of a queue, a kind, a group, a limiter, a key or everything, returned by
/// [`Admin::limit`] and the methods named after these.
///
/// Each method fails with [`AdminError::Invalid`] if the name is invalid.
#[derive(Debug, Clone)]
#[must_use = "it does nothing until one of its methods is called"]
pub struct LimitHandle<'a> {
    admin: &'a Admin,
    scope: Scope,
}

impl<'a> LimitHandle<'a> {
    pub(super) fn new(admin: &'a Admin, scope: Scope) -> Self {
        Self { admin, scope }
    }

    /// Returns what is in force now. A key without a limit of its own has that of its group. `None`
    /// means that no worker has announced this group or limiter.
    pub async fn get(&self) -> Result<Option<Limit>, AdminError> {
        self.scope.check()?;
        let mut link = self.admin.link();
        let found = match &self.scope {
            Scope::Key { group, key } => {
                match link.call(&statements::of_keys(Some(group), Some(key), false)).await?.pop() {
                    Some(own) => Some(own),
                    None => {
                        let of_group =
                            link.call(&of_name(&["group", "limiter"], group)).await?.pop();
                        of_group.map(|limit| limit.of_key(key))
                    }
                }
            }
            scope => link.call(&of_name(&[scope.word()], scope.name())).await?.pop(),
        };
        link.close().await;
        let unsaid = || self.scope.has_jobs().then(|| Limit::unsaid(self.scope.clone()));
        Ok(found.or_else(unsaid))
    }

    /// Changes it. Jobs that may now run become ready at once.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for a number or rate out of range, and for what cannot be limited:
    /// everything, running jobs of a limiter, waiting jobs of anything but a queue. It gives up
    /// ([`AdminError::Database`]) if claims in flight block it for two seconds. After an error the
    /// change may be in force while some blocked jobs still wait: call it again, or let a worker's
    /// periodic sweep find them.
    pub async fn set(&self, change: &Change) -> Result<Limited, AdminError> {
        self.scope.check()?;
        let rule = change.rule(&self.scope)?;
        let (word, name, key) = self.names();
        let set = statements::set_limit(word, name, key, &rule, self.admin.actor());
        let sweeps = match self.scope {
            // One call grants a thousand permits of a key; the sweep grants the rest.
            Scope::Key { .. } => change.frees_many(),
            Scope::Limiter(_) => false,
            _ => true,
        };
        let sweeps = |changed: &Option<bool>| sweeps && changed.is_some();
        self.act(&set, sweeps).await.map(Limited::of)
    }

    /// Pauses a queue, a kind or everything: once this returns, none of its jobs starts. Running
    /// jobs continue ([`wait_until_idle`](Self::wait_until_idle) waits for them), jobs claimed
    /// ahead are released, and waiting jobs that hold a permit of their key pass it on. The
    /// `reason`, 4,096 bytes at most, is for the audit.
    ///
    /// Returns whether it was not paused before. If it was, the pause keeps its start and gets the
    /// new actor and reason.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the reason, and for a key, a group or a limiter: a key can be
    /// [paused for a time](Self::pause_for). Otherwise as [`set`](Self::set).
    pub async fn pause(&self, reason: &str) -> Result<bool, AdminError> {
        self.must_have_jobs("pause without an end")?;
        let (word, name, _) = self.names();
        limits::reason(reason)?;
        let actor = self.admin.actor();
        let pause = statements::pause_limit(word, name, None, None, actor, reason);
        let paused = self.admin.ask(&pause).await?;
        Ok(paused == Some(true))
    }

    /// Pauses a key for a time, 30 days at most: none of its jobs starts before then, and running
    /// ones continue. A pause that ends later stays as it is.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the time, the reason, and for any scope other than a key.
    pub async fn pause_for(&self, time: Duration, reason: &str) -> Result<Limited, AdminError> {
        self.scope.check()?;
        let (word, name, key) = self.names();
        if key.is_none() {
            return Err(self.scope.refuse("pause with an end").into());
        }
        let time = limits::pause(time).map(interval)?;
        limits::reason(reason)?;
        let actor = Some(self.admin.actor().unwrap_or(""));
        let pause = statements::pause_limit(word, name, key, Some(time), actor, reason);
        self.admin.ask(&pause).await.map(Limited::of)
    }

    /// Ends its pause. Blocked jobs whose keys have permits left become ready at once.
    ///
    /// Returns whether it was paused.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub async fn resume(&self) -> Result<bool, AdminError> {
        self.scope.check()?;
        let (word, name, key) = self.names();
        let resume = statements::resume_limit(word, name, key, self.admin.actor());
        // Even if it was not paused: an earlier call may have ended here.
        self.act(&resume, |_| self.scope.has_jobs()).await
    }

    /// Waits until none of its jobs runs on any worker, at most this long. `progress` is called
    /// with the number of running jobs whenever that changes. Returns how many still run.
    ///
    /// Pause it first, or other jobs start. Jobs of a dead worker count as running until they are
    /// taken back.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for a group, a limiter or a key.
    pub async fn wait_until_idle(
        &self,
        within: Duration,
        mut progress: impl FnMut(u32),
    ) -> Result<u32, AdminError> {
        self.must_have_jobs("count of running jobs")?;
        let (began, mut last) = (Instant::now(), None);
        loop {
            let look = statements::running_of(self.scope.word(), self.scope.name());
            let running = self.admin.ask(&look).await?;
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

    fn names(&self) -> (&'static str, &str, Option<&str>) {
        (self.scope.word(), self.scope.name(), self.scope.key())
    }

    fn must_have_jobs(&self, what: &'static str) -> Result<(), AdminError> {
        self.scope.check()?;
        if self.scope.has_jobs() { Ok(()) } else { Err(self.scope.refuse(what).into()) }
    }

    /// Makes a call that may let blocked jobs run, and if so grants their permits.
    async fn act<C: Call>(
        &self,
        call: &C,
        sweeps: impl FnOnce(&C::Answer) -> bool,
    ) -> Result<C::Answer, AdminError> {
        let mut link = self.admin.link();
        let answer = link.call(call).await?;
        if sweeps(&answer) {
            let unblocked = sweep_all(&mut link).await?;
            tracing::debug!(limit = %self.scope, unblocked, "jobkit.limit");
        }
        link.close().await;
        Ok(answer)
    }
}

fn of_name<'a>(scopes: &'a [&'a str], name: &'a str) -> impl Call<Answer = Vec<Limit>> + 'a {
    statements::of_scopes(scopes, Some(name), false)
}
