//! A look at schedules that are not due: whether they are as they should be.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::DatabaseError;
use crate::schedule::Times;
use crate::store::{Link, WaitingSchedule, hasten_schedules, waiting_schedules};
use crate::worker::declared::Declared;

/// Schedules in one look.
const PAGE: i32 = 1000;

/// How long it is until the next look at the most.
const LONGEST: Duration = Duration::from_secs(60);

/// How many looks at the clock and at the declarations of other binaries there are for one at all
/// schedules.
const PARTS: u32 = 60;

/// Finds what no instant would bring up for long: a clock that has stepped back, a next instant
/// that other rules of time zones have computed, and times that an older binary has declared.
pub(crate) struct Review {
    declared: Declared,
    every: Duration,
    next: Instant,
    next_whole: Instant,
}

impl Review {
    /// As often as there are twelve sweeps, and once a minute at least.
    pub(crate) fn new(declared: Declared, sweep_every: Duration) -> Self {
        let now = Instant::now();
        let every = sweep_every.saturating_mul(12).min(LONGEST);
        Self { declared, every, next: now, next_whole: now }
    }

    /// How long it is until the next look.
    pub(super) fn rest(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Looks, where it is time to; answers in how long the next instant is due that came of it.
    pub(super) async fn look(
        &mut self,
        link: &mut Link,
    ) -> Result<Option<Duration>, DatabaseError> {
        let now = Instant::now();
        if now < self.next {
            return Ok(None);
        }
        let whole = now >= self.next_whole;
        let hastened = hasten(link, !whole).await?;
        self.declared.tell_again(link).await?;
        self.next = now + self.every;
        if whole {
            self.next_whole = now + self.every * PARTS;
        }
        Ok(hastened)
    }
}

/// Brings forward what is later than its times say, of all schedules or only of those behind whose
/// last instant the clock has stepped back.
async fn hasten(link: &mut Link, only_ahead: bool) -> Result<Option<Duration>, DatabaseError> {
    let (mut after, mut soonest) = (String::new(), None);
    loop {
        let page = link.call(&waiting_schedules(&after, PAGE, only_ahead)).await?;
        let Some(last) = page.last() else { return Ok(soonest) };
        after.clone_from(&last.name);
        let found: Vec<_> = page.into_iter().filter_map(late).collect();
        if found.is_empty() {
            continue;
        }
        let hastened = link.call(&hasten_schedules(&found)).await?;
        for (schedule, next) in found.iter().filter(|(it, _)| hastened.contains(&it.name)) {
            let WaitingSchedule { name, times, next_at, now } = schedule;
            let (old, new) = (next_at.to_rfc3339(), next.to_rfc3339());
            tracing::warn!(
                schedule = name,
                times,
                old,
                new,
                "jobkit.hasten: the next instant of a schedule was later than its times say: the \
                 clock has stepped back, or other rules of time zones had computed it"
            );
            let rest = (*next - *now).to_std().unwrap_or_default();
            soonest = Some(soonest.map_or(rest, |soonest: Duration| soonest.min(rest)));
        }
    }
}

/// The schedule, and its next instant, where that is stored as a later one.
fn late(schedule: WaitingSchedule) -> Option<(WaitingSchedule, chrono::DateTime<chrono::Utc>)> {
    // What this binary cannot read, another can.
    let times: Times = schedule.times.parse().ok()?;
    let next = times.next_after(schedule.now)?;
    (next < schedule.next_at).then_some((schedule, next))
}
