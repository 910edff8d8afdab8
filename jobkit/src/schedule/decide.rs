//! Decides what happens to a schedule that is due.

use chrono::{DateTime, TimeDelta, Utc};

use super::times::Times;
use super::{CatchUp, Overlap};
use crate::store::{Decided, DueSchedule, Instant};

/// How late an instant may be and not count as missed.
const GRACE: TimeDelta = TimeDelta::minutes(1);

/// How many skipped instants are recorded one by one; earlier ones are recorded as one.
const RECORDED: usize = 100;

/// How much payload of one schedule one call may enqueue.
const BYTES: u64 = 64 * 1024 * 1024;

/// Most jobs of one schedule in one call.
const MOST: u64 = 1000;

/// Decides about every instant up to now, by the database's clock.
pub(crate) fn decide(due: &DueSchedule, times: &Times) -> Decided {
    let catch_up = CatchUp::read(&due.catch_up, due.catch_up_max, due.catch_up_window);
    let most = match catch_up {
        CatchUp::All { max, .. } => max as usize,
        _ => 1,
    };
    let (mut passed, more) = passed(times, due.next_at, due.now, most + RECORDED);
    // Other time zone rules or another binary have set an instant that these times do not have.
    let foreign = !more && passed.first() != Some(&due.next_at);
    if foreign {
        passed.insert(0, due.next_at);
    }
    let replaced = |at: &DateTime<Utc>| foreign && passed.len() > 1 && *at == due.next_at;
    let mut instants: Vec<Instant> = passed
        .iter()
        .rev()
        .enumerate()
        .map(|(place, at)| {
            let caught = caught_up(catch_up, place, due.now - *at);
            let skipped = match () {
                () if due.paused => Some("paused"),
                () if !caught || replaced(at) => Some("missed"),
                // At most one runs at a time, so firing the latest is enough.
                () if Overlap::read(&due.overlap) != Overlap::Allow && place > 0 => Some("running"),
                () => None,
            };
            Instant { at: *at, skipped, since: None }
        })
        .rev()
        .collect();
    if let Some(first) = instants.first_mut().filter(|_| more) {
        // Not one of the last ones, which are fired.
        (first.since, first.skipped) = (Some(due.next_at), first.skipped.or(Some("missed")));
    }
    let next = cut(&mut instants, due.bytes).or_else(|| times.next_after(due.now));
    let (name, seen, times) = (due.name.clone(), due.next_at, due.times.clone());
    Decided { name, seen, times, instants, next }
}

/// Whether an instant that is this late is fired; the last one has place 0.
fn caught_up(catch_up: CatchUp, place: usize, late: TimeDelta) -> bool {
    match catch_up {
        CatchUp::None => place == 0 && late <= GRACE,
        CatchUp::Latest => place == 0,
        CatchUp::All { max, window } => {
            place < max as usize && late.to_std().is_ok_and(|late| late <= window)
        }
    }
}

/// The last instants between two times, at most this many, and whether there are more.
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

/// Leaves what is too much for one call to the next one, which begins with the instant returned.
fn cut(instants: &mut Vec<Instant>, bytes: u64) -> Option<DateTime<Utc>> {
    let most = usize::try_from((BYTES / bytes.max(1)).clamp(1, MOST)).unwrap_or(1);
    let mut fired = instants.iter().enumerate().filter(|(_, instant)| instant.skipped.is_none());
    let (place, first) = fired.nth(most)?;
    let next = first.at;
    instants.truncate(place);
    Some(next)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("a time")
    }

    fn due(times: &str, next_at: &str, now: &str) -> (DueSchedule, Times) {
        let due = DueSchedule {
            name: "nightly".to_owned(),
            times: times.to_owned(),
            next_at: at(next_at),
            catch_up: "latest".to_owned(),
            catch_up_max: 1,
            catch_up_window: Duration::ZERO,
            overlap: "allow".to_owned(),
            paused: false,
            bytes: 2,
            now: at(now),
        };
        (due, times.parse().expect("times"))
    }

    fn told(instants: &[Instant]) -> Vec<String> {
        let tell = |instant: &Instant| {
            let since =
                instant.since.map_or(String::new(), |s| format!(" since {}", s.format("%H:%M")));
            let what = instant.skipped.unwrap_or("fired");
            format!("{} {what}{since}", instant.at.format("%H:%M"))
        };
        instants.iter().map(tell).collect()
    }

    #[test]
    fn what_was_missed_is_caught_up_with_as_the_schedule_says() {
        let (mut due, times) = due("@hourly", "2026-11-25T09:00:00Z", "2026-11-25T12:00:30Z");
        let mut decide = |catch_up: &str, max, window| {
            due.catch_up = catch_up.to_owned();
            (due.catch_up_max, due.catch_up_window) = (max, Duration::from_secs(window));
            let decided = decide(&due, &times);
            assert_eq!(decided.next, Some(at("2026-11-25T13:00:00Z")));
            told(&decided.instants).join(", ")
        };
        let latest = "09:00 missed, 10:00 missed, 11:00 missed, 12:00 fired";
        assert_eq!(decide("none", 1, 0), latest);
        assert_eq!(decide("latest", 1, 0), latest);
        let two = "09:00 missed, 10:00 missed, 11:00 fired, 12:00 fired";
        assert_eq!(decide("all", 2, 86_400), two);
        assert_eq!(decide("all", 100, 3700), two);
        assert_eq!(decide("all", 4, 86_400), "09:00 fired, 10:00 fired, 11:00 fired, 12:00 fired");
    }

    #[test]
    fn none_catches_up_with_nothing_that_is_late() {
        let (mut due, times) = due("@hourly", "2026-11-25T11:00:00Z", "2026-11-25T11:01:01Z");
        due.catch_up = "none".to_owned();
        assert_eq!(told(&decide(&due, &times).instants), ["11:00 missed"]);
        due.now = at("2026-11-25T11:01:00Z");
        assert_eq!(told(&decide(&due, &times).instants), ["11:00 fired"]);
    }

    #[test]
    fn an_instant_that_other_rules_have_computed_is_decided() {
        let told = |next_at, now| {
            let (due, times) = due("30 9 * * *", next_at, now);
            let decided = decide(&due, &times);
            (told(&decided.instants).join(", "), decided.next.map(|at| at.to_rfc3339()))
        };
        let next = Some("2026-11-26T09:30:00+00:00".to_owned());
        let (late, early) = ("2026-11-25T10:30:00Z", "2026-11-25T08:30:00Z");
        assert_eq!(told(late, late), ("10:30 fired".to_owned(), next.clone()));
        let today = Some("2026-11-25T09:30:00+00:00".to_owned());
        assert_eq!(told(early, early), ("08:30 fired".to_owned(), today));
        // Two of one day: the later one is these times' own.
        assert_eq!(told(early, late), ("08:30 missed, 09:30 fired".to_owned(), next));
    }

    #[test]
    fn a_pause_and_an_overlap_are_reasons() {
        let (mut due, times) = due("@hourly", "2026-11-25T11:00:00Z", "2026-11-25T12:00:01Z");
        (due.catch_up, due.catch_up_max) = ("all".to_owned(), 10);
        due.catch_up_window = Duration::from_secs(86_400);
        due.overlap = "skip_if_running".to_owned();
        assert_eq!(told(&decide(&due, &times).instants), ["11:00 running", "12:00 fired"]);
        due.paused = true;
        assert_eq!(told(&decide(&due, &times).instants), ["11:00 paused", "12:00 paused"]);
    }

    #[test]
    fn a_long_outage_is_recorded_as_one() {
        let (due, times) = due("* * * * * *", "2025-01-01T00:00:00Z", "2026-11-25T12:00:00Z");
        let decided = decide(&due, &times);
        assert_eq!(decided.instants.len(), 101);
        assert_eq!(decided.instants[0].since, Some(due.next_at));
        assert_eq!(decided.instants[100].skipped, None);
    }

    #[test]
    fn large_payloads_are_fired_a_few_at_a_time() {
        let (mut due, times) = due("@hourly", "2026-11-25T01:00:00Z", "2026-11-25T12:00:00Z");
        (due.catch_up, due.catch_up_max) = ("all".to_owned(), 10);
        (due.catch_up_window, due.bytes) = (Duration::from_secs(86_400), 20 * 1024 * 1024);
        let decided = decide(&due, &times);
        let [.., last] = &*decided.instants else { panic!("there are some") };
        assert_eq!(told(std::slice::from_ref(last)), ["05:00 fired"]);
        assert_eq!(decided.next, Some(at("2026-11-25T06:00:00Z")));
    }
}
