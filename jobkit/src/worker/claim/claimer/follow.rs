use std::time::{Duration, Instant};

use super::Claimer;
use crate::error::DatabaseError;
use crate::store::matching_queues;
use crate::worker::shared::slots::MOST_QUEUES;

/// It looks for new queues at least this often, however busy it is …
const EVERY: Duration = Duration::from_secs(1);
/// … and no sooner than this after the last look, and spends at most one part in `SHARE` of the
/// time on it.
const PATIENCE: Duration = Duration::from_millis(20);
const SHARE: u32 = 20;

/// When a claimer last looked for queues that match the patterns of its worker.
#[derive(Debug, Default)]
pub(super) struct Follow {
    /// When it was, and how long it took.
    last: Option<(Instant, Duration)>,
    /// The name after which the next look begins, if more queues match than one look returns.
    after: String,
}

impl Follow {
    /// How long it is until it may look again.
    fn rest(&self, now: Instant) -> Duration {
        let rest = |(at, took): (Instant, Duration)| {
            (took * SHARE).max(PATIENCE).saturating_sub(now.saturating_duration_since(at))
        };
        self.last.map_or(Duration::ZERO, rest)
    }

    fn is_overdue(&self, now: Instant) -> bool {
        let is_old = |(at, _): (Instant, Duration)| now.saturating_duration_since(at) >= EVERY;
        self.last.is_none_or(is_old) && self.rest(now).is_zero()
    }
}

/// A claimer finds the queues that match a pattern by their ready jobs. Enqueues to any queue with
/// the prefix notify, even if the queue is new.
impl Claimer {
    fn follows(&self) -> bool {
        !self.second && !self.slots.prefixes().is_empty()
    }

    /// Looks for new queues if the last look was long ago.
    pub(super) async fn follow_if_due(&mut self, now: Instant) -> Result<(), DatabaseError> {
        if self.follows() && self.pace.follow.is_overdue(now) {
            self.follow(now).await?;
        }
        Ok(())
    }

    /// Looks for new queues before it rests, unless it just has. Returns whether there are some,
    /// and after how long it may look again.
    pub(super) async fn follow_before_rest(
        &mut self,
    ) -> Result<(bool, Option<Duration>), DatabaseError> {
        if !self.follows() {
            return Ok((false, None));
        }
        let now = Instant::now();
        let rest = self.pace.follow.rest(now);
        if !rest.is_zero() {
            return Ok((false, Some(rest)));
        }
        Ok((self.follow(now).await?, None))
    }

    async fn follow(&mut self, began: Instant) -> Result<bool, DatabaseError> {
        let most = i32::try_from(MOST_QUEUES).unwrap_or(i32::MAX);
        let after = std::mem::take(&mut self.pace.follow.after);
        let prefixes = self.slots.prefixes();
        let found = self.link.call(&matching_queues(&prefixes, &after, most)).await?;
        self.pace.follow.last = Some((Instant::now(), began.elapsed()));
        let is_whole = after.is_empty() && found.len() < MOST_QUEUES;
        if found.len() >= MOST_QUEUES {
            self.pace.follow.after = found.last().cloned().unwrap_or_default();
        }
        Ok(self.slots.follow(&found, is_whole))
    }
}
