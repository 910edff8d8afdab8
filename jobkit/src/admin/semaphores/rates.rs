//! Rates of keys, and their pauses.

use std::time::Duration;

use sqlx::postgres::types::PgInterval;

use super::{Limited, Rate, answer, check, statements};
use crate::admin::AdminError;
use crate::admin::count::{Count, count};
use crate::admin::{Admin, rate};
use crate::limits;
use crate::store::{interval, sweep_all};

/// A rate as it is stored; a time of zero means no rate.
fn stored_rate(
    rate: Option<Option<Rate>>,
) -> Result<(Option<PgInterval>, Option<i32>), AdminError> {
    let none = || Ok((interval(Duration::ZERO), 1));
    Ok(rate.map(|rate| rate.map_or_else(none, rate::stored)).transpose()?.unzip())
}

impl Admin {
    /// Sets how often jobs of each key of a group may start, whatever workers announce;
    /// `Some(None)` removes the rate, `None` restores the announced one. Keys with their own rate
    /// keep it. It takes effect at once: no job waits for a slot longer than the new rate requires.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the rate, otherwise as [`limit_group`](Self::limit_group).
    pub async fn rate_group(
        &self,
        group: &str,
        rate: Option<Option<Rate>>,
    ) -> Result<Limited, AdminError> {
        check(group, "")?;
        let (every, burst) = stored_rate(rate)?;
        let mut link = self.link();
        let known = link.call(&statements::rate_group(group, every, burst, self.actor())).await?;
        if known {
            sweep_all(&mut link).await?;
        }
        link.close().await;
        Ok(answer(known))
    }

    /// Sets the rate of one key, whatever the rate of its group. The key need not have been used.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the rate, the group and the key.
    pub async fn rate_key(
        &self,
        group: &str,
        key: &str,
        rate: Option<Option<Rate>>,
    ) -> Result<Limited, AdminError> {
        check(group, key)?;
        let (every, burst) = stored_rate(rate)?;
        let set = statements::rate_key(group, key, every, burst, self.actor());
        self.ask(&set).await.map(answer)
    }

    /// Pauses a key for a time, 30 days at most: none of its jobs starts before then, and running
    /// ones continue. A pause that ends later stays as it is.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the time and the texts.
    pub async fn pause_key(
        &self,
        group: &str,
        key: &str,
        pause: Duration,
        reason: Option<&str>,
    ) -> Result<Limited, AdminError> {
        check(group, key)?;
        limits::pause(pause)?;
        limits::reason(reason.unwrap_or(""))?;
        let actor = Some(self.actor().unwrap_or(""));
        let set = statements::pause_key(group, key, interval(pause), actor, reason);
        self.ask(&set).await.map(answer)
    }

    /// Ends the pause of a key. Returns whether it was paused.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the group and the key.
    pub async fn resume_key(&self, group: &str, key: &str) -> Result<bool, AdminError> {
        check(group, key)?;
        self.ask(&statements::resume_key(group, key, self.actor())).await
    }

    /// How many keys are paused, among the 10,000 that have waited for time to pass the longest;
    /// [`Count::AtLeast`] if there are more of these.
    pub async fn paused_keys(&self) -> Result<Count, AdminError> {
        let (paused, looked_at) = self.ask(&statements::keys_paused()).await?;
        Ok(count(paused, looked_at > 10_000))
    }
}
