//! What becomes of a schedule that is due.

use chrono::{DateTime, TimeDelta, Utc};

use super::times::Times;
use super::{CatchUp, Overlap};
use crate::store::{Decided, DueSchedule, Instant};

/// How late an instant may be that is not caught up with.
const GRACE: TimeDelta = TimeDelta::minutes(1);

/// How many instants that are skipped are recorded one by one; those before as one.
const RECORDED: usize = 100;

/// How much payload one call may enqueue.
const BYTES: u64 = 64 * 1024 * 1024;

/// Most jobs of one schedule in one call.
const MOST: u64 = 1000;

/// Decides about every instant up to now, by the clock of the database.
pub(crate) fn decide(due: &DueSchedule, times: &Times) -> Decided {
    let catch_up = CatchUp::read(&due.catch_up, due.catch_up_max, due.catch_up_window);
    let most = match catch_up {
        CatchUp::All { max, .. } => max as usize,
        _ => 1,
    };
    let (passed, more) = passed(times, due.next_at, due.now, most + RECORDED);
    let mut instants: Vec<Instant> = passed
        .iter()
        .rev()
        .enumerate()
        .map(|(place, at)| {
            let caught = caught_up(catch_up, place, due.now - *at);
            let skipped = match () {
                () if due.paused => Some("paused"),
                () if !caught => Some("missed"),
                // One at most runs at a time: the latest is as good as any.
                () if Overlap::read(&due.overlap) != Overlap::Allow && place > 0 => Some("running"),
                () => None,
            };
            Instant { at: *at, skipped, since: None }
        })
        .rev()
        .collect();
    if let Some(first) = instants.first_mut().filter(|_| more) {
        // Not one of those to be fired: these are the last.
        (first.since, first.skipped) = (Some(due.next_at), first.skipped.or(Some("missed")));
    }
    let next = cut(&mut instants, due.bytes).or_else(|| times.next_after(due.now));
    Decided { name: due.name.clone(), seen: due.next_at, instants, next }
}

/// Whether an instant is fired that is so late; the last one has the place 0.
fn caught_up(catch_up: CatchUp, place: usize, late: TimeDelta) -> bool {
    match catch_up {
        CatchUp::None => place == 0 && late <= GRACE,
        CatchUp::Latest => place == 0,
        CatchUp::All { max, window } => {
            place < max as usize && late.to_std().is_ok_and(|late| late <= window)
        }
    }
}

/// The last instants from one time on up to another, this many at most; whether there are more.
fn passed(
    times: &Times,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
    most: usize,
) -> (Vec<DateTime<Utc>>, bool) {
    let mut found = Vec::new();
    let mut last = times.last_until(until);
    while let Some(at) = last.filter(|at| *at >= from) {
        if found.len() == most {
            found.reverse();
            return (found, true);
        }
        found.push(at);
        last = times.last_until(at - TimeDelta::seconds(1));
    }
    found.reverse();
    (found, false)
}

/// Leaves what is too much for one call for the next, which begins with the instant returned.
fn cut(instants: &mut Vec<Instant>, bytes: u64) -> Option<DateTime<Utc>> {
    let most = usize::try_from((BYTES / bytes.max(1)).clamp(1, MOST)).unwrap_or(1);
    let mut fired = instants.iter().enumerate().filter(|(_, instant)| instant.skipped.is_none());
    let (place, first) = fired.nth(most)?;
    let next = first.at;
    instants.truncate(place);
    Some(next)
}
