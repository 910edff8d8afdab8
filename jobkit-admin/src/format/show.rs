//! Values as people read them.

#[cfg(feature = "cli")]
use jobkit::admin::limits::Limit;
use jobkit::admin::workers::ServedQueue;
use jobkit::policy::Concurrency;
use std::time::Duration;

use chrono::{DateTime, Utc};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

const IN_URL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Text escaped for a query or a path.
pub(crate) fn url(text: &str) -> String {
    utf8_percent_encode(text, IN_URL).to_string()
}

/// `12,345`.
pub(crate) fn number(number: impl Into<i64>) -> String {
    let number: i64 = number.into();
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "−" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count that stops at 10,000: `17`, or `10,000+`.
pub(crate) fn bounded(count: &u32) -> String {
    if *count >= 10_000 { "10,000+".into() } else { number(*count) }
}

/// The limit of a concurrency key.
pub(crate) fn limit(limit: &u32) -> String {
    if *limit == Concurrency::UNLIMITED { "no limit".into() } else { number(*limit) }
}

/// Who set the limit in force: operators override code, and only operators and handlers pause.
#[cfg(feature = "cli")]
pub(crate) fn said_by(limit: &Limit) -> &'static str {
    let said = limit.running.is_some() || limit.rate.is_some() || limit.waiting.is_some();
    match limit.is_overridden() {
        true => "operator",
        false if said => "code",
        false => "",
    }
}

/// How many slots a queue has in a worker, and whether it shares them.
pub(crate) fn served(served: &ServedQueue) -> String {
    let slots = served.slots.map(|slots| slots.to_string()).unwrap_or_default();
    let shared = served.pool.map(|_| " shared".to_owned());
    let weight =
        served.weight.filter(|weight| *weight > 1).map(|weight| format!(", weight {weight}"));
    [Some(slots), shared, weight].into_iter().flatten().collect()
}

/// A count that may be a lower bound.
pub(crate) fn count(count: &jobkit::admin::Count) -> String {
    let more = if matches!(count, jobkit::admin::Count::AtLeast(_)) { "+" } else { "" };
    format!("{}{more}", number(count.number()))
}

/// The infinite times of PostgreSQL; times beyond the calendar's range are read as these.
fn end(time: &DateTime<Utc>) -> Option<&'static str> {
    match *time {
        time if time == DateTime::<Utc>::MAX_UTC => Some("infinity"),
        time if time == DateTime::<Utc>::MIN_UTC => Some("-infinity"),
        _ => None,
    }
}

/// The time at which the database has jobs that wait for others: followers of a unique key, and
/// callbacks of a batch.
const PARKED: i64 = 253_402_214_400;

fn is_parked(time: &DateTime<Utc>) -> bool {
    time.timestamp() == PARKED
}

/// Whether it is a finite time, which has an age.
pub(crate) fn is_finite(time: &DateTime<Utc>) -> bool {
    end(time).is_none() && !is_parked(time)
}

/// A time in this format; `infinity` or `-infinity` if it is infinite.
fn formatted(time: &DateTime<Utc>, form: &str) -> String {
    end(time).map_or_else(|| time.format(form).to_string(), str::to_owned)
}

/// How many things match.
pub(crate) fn matching(count: &jobkit::admin::Count) -> String {
    match count {
        jobkit::admin::Count::Exactly(counted) => number(*counted),
        jobkit::admin::Count::AtLeast(0) => "An unknown number".to_owned(),
        jobkit::admin::Count::AtLeast(counted) => format!("More than {}", number(*counted)),
    }
}

/// For `datetime`.
pub(crate) fn iso(time: &DateTime<Utc>) -> String {
    formatted(time, "%Y-%m-%dT%H:%M:%S%.3fZ")
}

/// `2026-11-21 19:05:44 UTC`.
pub(crate) fn utc(time: &DateTime<Utc>) -> String {
    formatted(time, "%Y-%m-%d %H:%M:%S UTC")
}

/// How long ago, or how soon: `3 min ago`, `in 2 h`.
pub(crate) fn ago(time: &DateTime<Utc>, now: &DateTime<Utc>) -> String {
    if let Some(end) = end(time) {
        return end.to_owned();
    }
    if is_parked(time) {
        return "after others".to_owned();
    }
    let past = now.signed_duration_since(time);
    match past.to_std() {
        Ok(past) if past.as_millis() < 1500 => "now".into(),
        Ok(past) => format!("{} ago", span(&past)),
        Err(_) => format!("in {}", span(&(-past).to_std().unwrap_or_default())),
    }
}

/// A span in about two digits: `340 ms`, `12 s`, `3 min`, `5 h`, `4 d`.
pub(crate) fn span(time: &Duration) -> String {
    let (millis, seconds) = (time.as_millis(), time.as_secs());
    match seconds {
        0 => format!("{millis} ms"),
        1..10 => format!("{}.{} s", seconds, millis % 1000 / 100),
        10..100 => format!("{seconds} s"),
        100..6000 => format!("{} min", seconds / 60),
        6000..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A qualifier of the search, as a part of a query: `kind:send_receipt`, `kind:"two words"`.
pub(crate) fn qualifier(name: &str, value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./@".contains(c);
    let quoted = || format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
    let value = if value.chars().all(plain) { value.to_owned() } else { quoted() };
    url(&format!("{name}:{value}"))
}

/// A share from 0 to 1, in percent.
pub(crate) fn rate(share: &f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A large number, grouped.
pub(crate) fn large(value: &u64) -> String {
    number(i64::try_from(*value).unwrap_or(i64::MAX))
}

/// A number, grouped.
pub(crate) fn many(value: &u32) -> String {
    number(*value)
}

/// `Ready`.
pub(crate) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `dead_letter` as words.
pub(crate) fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// A worker's id, as logs show it.
pub(crate) fn worker(id: &i64) -> String {
    format!("{id:x}")
}

/// Bytes in about three digits: `817 kB`.
pub(crate) fn bytes(bytes: &u64) -> String {
    match *bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        10_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

/// How much of something is used, 0 to 100.
pub(crate) fn percent(used: &u32, of: &u32) -> u32 {
    match of {
        0 => u32::from(*used > 0) * 100,
        _ => (u64::from(*used) * 100 / u64::from(*of)).min(100) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (-1_234_567, "−1,234,567")]
        {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn a_time_that_never_comes_has_no_age() {
        let time = |text: &str| text.parse::<DateTime<Utc>>().unwrap_or_default();
        let now = time("2026-11-25T12:00:00Z");
        let parked = time("9999-12-31T00:00:00Z");
        assert_eq!((&*ago(&parked, &now), is_finite(&parked)), ("after others", false));
        assert_eq!(utc(&parked), "9999-12-31 00:00:00 UTC");
        assert_eq!(ago(&time("2026-11-25T13:00:00Z"), &now), "in 60 min");
        assert_eq!(ago(&DateTime::<Utc>::MAX_UTC, &now), "infinity");
    }

    #[test]
    fn spans_have_two_digits_or_so() {
        for (millis, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1999, "1.9 s"),
            (59_000, "59 s"),
            (120_000, "2 min"),
            (7_200_000, "2 h"),
            (259_200_000, "3 d"),
        ] {
            assert_eq!(span(&Duration::from_millis(millis)), text);
        }
    }
}
