use std::str::FromStr;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Timelike, Utc};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::*;

mod hostile;
mod peers;
mod zones;

fn times(text: &str) -> Times {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn at(text: &str) -> DateTime<Utc> {
    text.parse().expect("a time")
}

fn refusal(text: &str) -> String {
    Times::from_str(text).expect_err(text).to_string()
}

/// The instants after one time, up to another.
fn between(times: &Times, from: DateTime<Utc>, until: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    let next = |at: &DateTime<Utc>| times.next_after(*at).filter(|next| *next <= until);
    std::iter::successors(next(&from), next).collect()
}

/// The same, backwards, from the last.
fn back(times: &Times, from: DateTime<Utc>, until: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    let last = |at: DateTime<Utc>| times.last_until(at).filter(|last| *last > from);
    let mut all: Vec<_> =
        std::iter::successors(last(until), |at| last(*at - TimeDelta::seconds(1))).collect();
    all.reverse();
    all
}

#[test]
fn text_is_read() {
    let from = at("2026-11-25T12:34:56.789Z");
    for (text, next) in [
        ("0 3 * * *", "2026-11-26T03:00:00Z"),
        ("0 3 * * * Europe/Berlin", "2026-11-26T02:00:00Z"),
        ("  0   3 * *  *  UTC ", "2026-11-26T03:00:00Z"),
        ("*/10 * * * * *", "2026-11-25T12:35:00Z"),
        ("30 0 3 * * * Asia/Kolkata", "2026-11-25T21:30:30Z"),
        ("0 9 * * MON-FRI EST", "2026-11-25T14:00:00Z"),
        ("0 0 9 * * Mon", "2026-11-30T09:00:00Z"),
        ("0 0 L * *", "2026-11-30T00:00:00Z"),
        ("@daily", "2026-11-26T00:00:00Z"),
        ("@hourly Asia/Kathmandu", "2026-11-25T13:15:00Z"),
        ("@yearly", "2027-01-01T00:00:00Z"),
        ("every 15m", "2026-11-25T12:45:00Z"),
        ("@every 1s", "2026-11-25T12:34:57Z"),
        ("every 1d", "2026-11-26T00:00:00Z"),
        ("00 09 * * *", "2026-11-26T09:00:00Z"),
        ("0 0 LW * *", "2026-11-30T00:00:00Z"),
        ("0 0 28W * *", "2026-11-27T00:00:00Z"),
        ("0 0 ? * MON", "2026-11-30T00:00:00Z"),
        ("0 0 1 12 ?", "2026-12-01T00:00:00Z"),
        ("0 0 * * friL", "2026-11-27T00:00:00Z"),
        ("0 0 * * 5#L", "2026-11-27T00:00:00Z"),
        ("0 0 * * MON#1,TUE#2", "2026-12-07T00:00:00Z"),
        ("0 0 1-7 * +SUN", "2026-12-06T00:00:00Z"),
        ("0 0 13 * FRI", "2026-11-27T00:00:00Z"),
        ("0 0 * * FRI-SUN", "2026-11-27T00:00:00Z"),
        ("0 0 * * 7", "2026-11-29T00:00:00Z"),
        ("0 0 1 JAN-MAR,dec *", "2026-12-01T00:00:00Z"),
        ("@daily Etc/GMT-2", "2026-11-25T22:00:00Z"),
        ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
    ] {
        assert_eq!(times(text).next_after(from), Some(at(next)), "{text}");
    }
    assert_eq!(times(" @daily  UTC").to_string(), "@daily UTC");
    assert_eq!(times("@daily Europe/Berlin").zone(), Some("Europe/Berlin"));
    assert_eq!(times("every 2h").zone(), None);
}

#[test]
fn what_cannot_be_is_refused_with_advice() {
    for (text, words) in [
        ("", "5 or 6 fields of cron, found 0"),
        ("0 3 * *", "5 or 6 fields of cron, found 4"),
        ("0 3 * * * Europe/Berln", "`Europe/Berln` is not a time zone: write one like"),
        ("0 0 3 * * * Nowhere", "`Nowhere` is not a time zone"),
        ("@daily Berlin", "`Berlin` is not a time zone"),
        ("@daily UTC UTC", "only a zone"),
        ("@often", "unknown form `@often`: write `@yearly`"),
        ("every 0s", "`0s` is not an interval"),
        ("every 367d", "at most 366 days"),
        ("every 99999999999d", "`99999999999d` is not an interval"),
        ("60 * * * *", "`60` is not a valid minute: use 0 to 59"),
        ("0 0 30 2 *", "never occurs"),
        ("* * * 31 2,4,6,9,11 *", "never occurs"),
        ("*/5 2 * 3 SUNL Europe/Berlin", "never occurs"),
        ("0 3 * * * ☃", "unexpected character"),
        (&"1,".repeat(101), "longer than 200 bytes"),
    ] {
        let refusal = refusal(text);
        assert!(refusal.contains(words), "{text}: {refusal}");
    }
}

/// What other programs take for something else, or some of them refuse.
#[test]
fn what_may_mean_something_else_is_refused_with_what_to_write() {
    for (text, words) in [
        ("0 9 * MON *", "`MON` is a weekday, in the place of the month"),
        ("0 9 * * JAN", "`JAN` is a month, in the place of the weekday"),
        ("0 9 MON * *", "`MON` is a weekday, in the place of the day"),
        ("MON 9 * * *", "`MON` is a weekday, in the place of the minute"),
        ("0 9 * * MONDAY", "write its first three letters"),
        ("0 9 * JANUARY *", "write its first three letters"),
        ("1,,2 * * * *", "the minute field has an empty item"),
        ("0 , L * +MON", "the hour field has an empty item"),
        (", 0 * * *", "the minute field has an empty item"),
        ("*/61 * * * *", "`*/61` matches only `0`"),
        ("*/60 * * * *", "`*/60` matches only `0`"),
        ("10-20/15 * * * *", "`10-20/15` matches only `10`"),
        ("*/0 * * * *", "a number of at least 1 after `/`"),
        ("0/15 * * * *", "write `*/15`, or `0-59/15`"),
        ("5/15 * * * *", "write `5-59/15`"),
        ("/15 * * * *", "write `*/15`"),
        ("*,5 * * * *", "`*,5` is every minute"),
        ("0 9 * * SAT-MON", "write `SAT,SUN-MON`"),
        ("0 9 * * 5-1", "write `5-6,0-1`"),
        ("0 22-2 * * *", "write `22-23,0-2`"),
        ("0 0 1 NOV-FEB *", "write `NOV-DEC,JAN-FEB`"),
        ("0 9 * * L", "`SATL` for the last"),
        ("0 9 * * MON#6", "a number from 1 to 5"),
        ("0 9 * * +MON", "leave out `+`"),
        ("0 0 */2 * 1", "write `+1` to require both"),
        ("0 0 1-7 * */7", "`SUN#1` for the first Sunday"),
        ("0 0 15 * */2,1", "requires a day to match both"),
        ("@every 5m Europe/Berlin", "takes no zone"),
        ("every 5m UTC", "takes no zone"),
        ("TZ=Europe/Paris 0 3 * * *", "write `0 3 * * * Europe/Paris`"),
        ("CRON_TZ=Asia/Tokyo @daily", "write `0 3 * * * Asia/Tokyo`"),
        ("0 3 * * * +02:00", "`+02:00` is an offset"),
        ("0 3 * * * -0230", "`-0230` is an offset"),
        ("0 3 * * * UTC+2", "`UTC+2` is an offset"),
        ("0 3 * * * europe/berlin", "write `Europe/Berlin`"),
        ("0 3 * * * right/Europe/Berlin", "is not a time zone"),
        ("0 3 * * * posixrules", "is not a time zone"),
    ] {
        let refusal = refusal(text);
        assert!(refusal.contains(words), "{text}: {refusal}");
    }
}

#[test]
fn a_time_of_day_runs_once_a_day() {
    let berlin = |text: &str, from, until| {
        let times = times(&format!("{text} Europe/Berlin"));
        between(&times, at(from), at(until))
    };
    // 02:30 is skipped: at 03:00, the first time after.
    let spring = berlin("30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z");
    assert_eq!(spring, [at("2026-03-29T01:00:00Z"), at("2026-03-30T00:30:00Z")]);
    // It is repeated: the first of the two.
    let autumn = berlin("30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z");
    assert_eq!(autumn, [at("2026-10-25T00:30:00Z"), at("2026-10-26T01:30:00Z")]);
    // Midnight in a zone that skips it.
    let cairo = times("@daily Africa/Cairo");
    let spring = between(&cairo, at("2026-04-23T12:00:00Z"), at("2026-04-25T12:00:00Z"));
    assert_eq!(spring, [at("2026-04-23T22:00:00Z"), at("2026-04-24T21:00:00Z")]);
}

#[test]
fn what_repeats_within_a_day_follows_the_clock_on_the_wall() {
    let half = times("*/30 2 * * * Europe/Berlin");
    let spring = between(&half, at("2026-03-28T12:00:00Z"), at("2026-03-29T12:00:00Z"));
    assert!(spring.is_empty(), "{spring:?}");
    let autumn = between(&half, at("2026-10-24T12:00:00Z"), at("2026-10-25T12:00:00Z"));
    let expected = ["00:00", "00:30", "01:00", "01:30"];
    assert_eq!(autumn, expected.map(|time| at(&format!("2026-10-25T{time}:00Z"))));
    // `every` counts hours that pass, whatever clocks show.
    let six = between(&times("every 6h"), at("2026-10-24T23:00:00Z"), at("2026-10-25T23:00:00Z"));
    assert_eq!(six.len(), 4);
}

/// How many seconds a zone is ahead of UTC.
fn offset_of(zone: &TimeZone, time: DateTime<Utc>) -> i64 {
    let time = Timestamp::from_second(time.timestamp()).expect("a time");
    zone.to_offset(time).seconds().into()
}

/// A zone's changes of clock in the ten years from 2020 on.
fn changes(zone: &TimeZone) -> Vec<DateTime<Utc>> {
    let offset = |time: DateTime<Utc>| offset_of(zone, time);
    let first = at("2020-01-01T00:00:00Z");
    let mut found = Vec::new();
    for day in 0..3653 {
        let (mut before, mut after) =
            (first + TimeDelta::days(day), first + TimeDelta::days(day + 1));
        if offset(before) == offset(after) {
            continue;
        }
        while after - before > TimeDelta::seconds(1) {
            let middle = before + (after - before) / 2;
            if offset(middle) == offset(before) { before = middle } else { after = middle }
        }
        found.push(DateTime::from_timestamp(after.timestamp(), 0).expect("a time"));
    }
    found
}

fn on_the_wall(zone: &TimeZone, time: DateTime<Utc>) -> NaiveDateTime {
    time.naive_utc() + TimeDelta::seconds(offset_of(zone, time))
}

/// What the clock on the wall shows, minute by minute.
fn minutes(
    zone: &TimeZone,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Vec<(DateTime<Utc>, NaiveDateTime)> {
    let minutes = (until - from).num_minutes();
    let minute = |n| from + TimeDelta::minutes(n);
    (1..=minutes).map(|n| (minute(n), on_the_wall(zone, minute(n)))).collect()
}

/// Once a day at this time: when the wall shows it first, or passes over it.
fn slow_daily(
    shown: &[(DateTime<Utc>, NaiveDateTime)],
    hour: u32,
    minute: u32,
) -> Vec<DateTime<Utc>> {
    let mut found: Vec<DateTime<Utc>> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for pair in shown.windows(2) {
        let [(_, before), (instant, now)] = pair else { continue };
        // The change itself may skip the end of a day.
        for day in [before.date(), now.date()] {
            let due = day.and_hms_opt(hour, minute, 0).expect("a time of day");
            if *before < due && due <= *now && seen.insert(due) {
                found.push(*instant);
            }
        }
    }
    found
}

#[test]
fn every_change_of_clock_in_ten_years_is_as_a_slow_reference_has_it() {
    let mut compared = 0;
    let mut seen = std::collections::HashSet::new();
    let rules = ZoneRules::current();
    for name in rules.names() {
        let zone = rules.zone(&name).expect(&name);
        for change in changes(&zone) {
            let offset = |time: DateTime<Utc>| offset_of(&zone, time);
            // The same change in another zone is no other case.
            if !seen.insert((change, offset(change), offset(change - TimeDelta::seconds(1)))) {
                continue;
            }
            compared += 1;
            compare(&name, &zone, change);
        }
    }
    assert!(compared > 500, "{compared}");
}

/// Times around a change of clock.
fn compare(name: &str, zone: &TimeZone, change: DateTime<Utc>) {
    let (from, until) = (change - TimeDelta::hours(30), change + TimeDelta::hours(30));
    let shown = minutes(zone, from, until);
    let local = on_the_wall(zone, change);
    let check = |text: &str, expected: &[DateTime<Utc>], from: DateTime<Utc>| {
        let times = times(&format!("{text} {name}"));
        assert_eq!(between(&times, from, until), expected, "{text} {name} {change}");
        assert_eq!(back(&times, from, until), expected, "back {text} {name} {change}");
    };
    for minutes in [-90, -60, -30, -15, 0, 15, 30, 60] {
        let near = local + TimeDelta::minutes(minutes);
        let (hour, minute) = (near.hour(), near.minute());
        // From the second minute on: the reference looks at what was before.
        let expected = slow_daily(&shown, hour, minute);
        check(&format!("{minute} {hour} * * *"), &expected, from + TimeDelta::minutes(1));
    }
    let quarters = |hours: std::ops::RangeInclusive<u32>| -> Vec<DateTime<Utc>> {
        let due =
            |now: &NaiveDateTime| now.minute().is_multiple_of(15) && hours.contains(&now.hour());
        shown.iter().filter(|(_, now)| due(now)).map(|(instant, _)| *instant).collect()
    };
    check("*/15 * * * *", &quarters(0..=23), from);
    check("*/15 0-3 * * *", &quarters(0..=3), from);
}
