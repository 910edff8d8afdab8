//! A review of schedules that are not due: whether they are as they should be.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::DatabaseError;
use crate::schedule::Times;
use crate::store::{Link, WaitingSchedule, hasten_schedules, waiting_schedules};
use crate::worker::schedules::DeclaredSchedules;

/// Schedules in one look.
const PAGE: i32 = 1000;

/// The longest time until the next review.
const LONGEST: Duration = Duration::from_secs(60);

/// How many checks of the clock and of other binaries' declarations there are for each review of
/// all schedules.
const PARTS: u32 = 60;

/// Finds problems that would only show at the next instant: a clock that has stepped back, a next
/// instant computed with other time zone rules, and times that an older binary has declared.
pub(crate) struct Review {
    declared: DeclaredSchedules,
    every: Duration,
    next: Instant,
    next_whole: Instant,
}

impl Review {
    /// Once every twelve sweeps, and at least once a minute.
    pub(crate) fn new(declared: DeclaredSchedules, sweep_every: Duration) -> Self {
        let now = Instant::now();
        let every = sweep_every.saturating_mul(12).min(LONGEST);
        Self { declared, every, next: now, next_whole: now }
    }

    /// How long until the next review.
    pub(super) fn rest(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Reviews, if it is time to. Returns after how long the next changed instant is due.
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

/// Brings forward next instants that are later than their times say, of all schedules or only of
/// those whose last instant is in the future, since the clock has stepped back.
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
                 clock has stepped back, or it was computed with other time zone rules"
            );
            let rest = (*next - *now).to_std().unwrap_or_default();
            soonest = Some(soonest.map_or(rest, |soonest: Duration| soonest.min(rest)));
        }
    }
}

/// The schedule and its correct next instant, if a later one is stored.
fn late(schedule: WaitingSchedule) -> Option<(WaitingSchedule, chrono::DateTime<chrono::Utc>)> {
    // Another binary may read what this one cannot.
    let times: Times = schedule.times.parse().ok()?;
    let next = times.next_after(schedule.now)?;
    (next < schedule.next_at).then_some((schedule, next))
}
