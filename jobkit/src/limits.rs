//! What may be stored. Everything is checked before it is sent: an error of the database would
//! abort the caller's transaction.

use std::ops::RangeInclusive;
use std::time::Duration;

use chrono::{DateTime, Datelike, Utc};

use crate::error::InvalidValue;
use crate::policy::Rate;

/// Largest payload with its metadata, as JSON text.
pub(crate) const PAYLOAD_BYTES: usize = 1024 * 1024;
/// Largest result that the history keeps, as JSON text.
pub(crate) const RESULT_BYTES: usize = 64 * 1024;
/// Largest sum of payloads of one call.
pub(crate) const BATCH_BYTES: usize = 256 * 1000 * 1000;
/// Largest checkpoint or value of a step, as JSON text.
pub(crate) const STEP_BYTES: usize = 64 * 1024;
/// Longest note of a progress.
pub(crate) const NOTE_BYTES: usize = 200;
/// Longest reason that an operator gives, and longest note.
pub(crate) const REASON_BYTES: usize = 4096;
/// Longest name of an actor; longer ones are cut.
const ACTOR_BYTES: usize = 512;
/// Longest queue, kind, group or tag.
pub(crate) const NAME_BYTES: usize = 128;
/// Longest key.
pub(crate) const KEY_BYTES: usize = 512;
/// Most digits of a number in a payload; its power of ten has four at most.
const DIGITS: usize = 5000;
/// Deepest nesting of a payload: what serde_json reads.
pub(crate) const NESTING: usize = 127;
/// Longest name of an error's type.
pub(crate) const TYPE_BYTES: usize = 256;
/// Highest limit of a concurrency key.
pub(crate) const LIMIT: u32 = 1_000_000;
/// How many seconds a unique key is held, a job waits or is tried, or a cause is muted: 366 days at
/// most.
pub(crate) const LENGTHS: RangeInclusive<u64> = 1..=366 * 24 * 60 * 60;
/// The time from one slot of a rate to the next, in microseconds: 30 days at most.
const SLOTS: RangeInclusive<u64> = 100..=30 * 24 * 60 * 60 * 1_000_000;
/// Priorities; smaller ones run first.
pub(crate) const PRIORITIES: RangeInclusive<i16> = -3..=3;
/// How many attempts a job may have.
pub(crate) const ATTEMPTS: RangeInclusive<u16> = 1..=1000;
/// Versions of a payload.
pub(crate) const VERSIONS: RangeInclusive<u16> = 1..=32_767;
/// How many jobs one call may run, and how long the first waits for the others.
pub(crate) const CHUNKS: RangeInclusive<u16> = 1..=1000;
pub(crate) const LINGERS: RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(60);
/// Most tags of a job.
pub(crate) const TAGS: usize = 32;

/// Checks a text that must not be empty.
pub(crate) fn name(what: &'static str, text: &str, limit: usize) -> Result<(), InvalidValue> {
    if text.is_empty() {
        return Err(InvalidValue::Length { what, bytes: 0, limit });
    }
    self::text(what, text, limit)
}

/// Checks a text that may be empty.
pub(crate) fn text(what: &'static str, text: &str, limit: usize) -> Result<(), InvalidValue> {
    if text.len() > limit {
        return Err(InvalidValue::Length { what, bytes: text.len(), limit });
    }
    if text.contains('\0') { Err(InvalidValue::Nul { what }) } else { Ok(()) }
}

/// Checks the reason that an operator gives.
pub(crate) fn reason(text: &str) -> Result<(), InvalidValue> {
    self::text("reason", text, REASON_BYTES)
}

/// Checks JSON text. Searches read it as jsonb, which has no NUL and bounds the length of numbers,
/// and readers bound the depth of nesting (the server's stack does, too).
pub(crate) fn json(
    what: &'static str,
    nesting: &'static str,
    json: &str,
) -> Result<(), InvalidValue> {
    if json.contains("\\u0000") && escapes_nul(json) {
        return Err(InvalidValue::Nul { what });
    }
    let Shape { depth, digits } = Shape::of(json);
    range("number of digits of a number in JSON", digits, 0..=DIGITS, "0 to 5000")?;
    range(nesting, depth, 0..=NESTING, "0 to 127")
}

/// Checks a payload that comes with this many bytes of metadata, as enqueueing a job of its type
/// would.
pub(crate) fn payload(text: &str, metadata: usize) -> Result<(), InvalidValue> {
    let bytes = text.len() + metadata;
    if bytes > PAYLOAD_BYTES {
        return Err(InvalidValue::Length { what: "payload", bytes, limit: PAYLOAD_BYTES });
    }
    json("payload", "nesting of the payload", text)
}

/// Whether the text escapes a surrogate: jsonb refuses one without its other half, which only
/// JSON taken over verbatim can contain.
pub(crate) fn escapes_surrogate(json: &str) -> bool {
    json.contains("\\ud") || json.contains("\\uD")
}

/// How deeply arrays and objects are nested, and how long the longest number is.
struct Shape {
    depth: usize,
    digits: usize,
}

impl Shape {
    fn of(json: &str) -> Self {
        let (mut depth, mut digits, mut power) = (0_usize, 0, false);
        let (mut quoted, mut escaped) = (false, false);
        let mut most = Self { depth: 0, digits: 0 };
        for byte in json.bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = !quoted,
                _ if quoted => {}
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                // A fifth digit of a power of ten is one too many.
                b'0'..=b'9' => digits += if power && digits > 3 { DIGITS } else { 1 },
                b'e' | b'E' => (digits, power) = (0, true),
                b'.' | b'+' | b'-' => {}
                _ => (digits, power) = (0, false),
            }
            most.depth = most.depth.max(depth);
            most.digits = most.digits.max(digits);
        }
        most
    }
}

/// A time the server can store, to compare others with.
pub(crate) fn time(time: DateTime<Utc>) -> DateTime<Utc> {
    time.max(DateTime::UNIX_EPOCH)
}

/// A time to run at: everything long past means now, and no calendar goes beyond the year 9999.
pub(crate) fn run_at(time: DateTime<Utc>) -> Result<DateTime<Utc>, InvalidValue> {
    range("year of the time to run at", time.year(), i32::MIN..=9999, "up to 9999")?;
    Ok(self::time(time))
}

/// A wait from now on: as a time to run at that long from now, by a clock that need not be right.
pub(crate) fn wait(wait: Duration) -> Result<Duration, InvalidValue> {
    let at = chrono::Duration::from_std(wait).ok();
    let at = at.and_then(|wait| Utc::now().checked_add_signed(wait)).map(run_at);
    at.unwrap_or_else(|| run_at(DateTime::<Utc>::MAX_UTC)).map(|_| wait)
}

/// The pause of a key.
pub(crate) fn pause(pause: Duration) -> Result<Duration, InvalidValue> {
    const MONTH: u64 = 30 * 24 * 60 * 60;
    // A second that has begun counts.
    let seconds = pause.as_secs().saturating_add(u64::from(pause.subsec_nanos() > 0));
    range("seconds of a pause", seconds, 0..=MONTH, "0 to 2592000").map(|()| pause)
}

/// Whether `\u0000` really is an escape: an odd number of backslashes stands before the `u`.
fn escapes_nul(json: &str) -> bool {
    let mut backslashes = 0;
    json.char_indices().any(|(at, c)| {
        let escaped = backslashes % 2 == 1;
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        escaped && c == 'u' && json[at + 1..].starts_with("0000")
    })
}

/// Checks a rate.
pub(crate) fn rate(rate: Rate) -> Result<(), InvalidValue> {
    let micros = u64::try_from(rate.every.as_micros()).unwrap_or(u64::MAX);
    range("microseconds from one slot to the next", micros, SLOTS, "100 to 2592000000000")?;
    range("burst", rate.burst, 1..=LIMIT, "1 to 1000000")
}

/// Checks a number.
pub(crate) fn range<T: PartialOrd + Copy + TryInto<i64>>(
    what: &'static str,
    value: T,
    allowed: RangeInclusive<T>,
    range: &'static str,
) -> Result<(), InvalidValue> {
    if allowed.contains(&value) {
        return Ok(());
    }
    Err(InvalidValue::Range { what, value: value.try_into().unwrap_or(i64::MAX), range })
}

/// Error texts may contain anything. PostgreSQL stores no NUL, and the log needs no long texts.
pub(crate) fn clean(text: &str) -> String {
    cut(text, 16 * 1024)
}

/// Who acts, as they call themselves.
pub(crate) fn actor(text: &str) -> String {
    cut(text, ACTOR_BYTES - CUT.len())
}

const CUT: &str = " … (cut)";

fn cut(text: &str, longest: usize) -> String {
    let mut clean = text.replace('\0', "\\0");
    if clean.len() > longest {
        let end = clean.floor_char_boundary(longest);
        clean.truncate(end);
        clean.push_str(CUT);
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_real_nul_escape_is_refused() {
        assert!(json("payload", "nesting", r#"{"a":"\u0000"}"#).is_err());
        assert!(json("payload", "nesting", r#"{"a":"\\\u0000"}"#).is_err());
        assert!(json("payload", "nesting", r#"{"a":"\\u0000"}"#).is_ok());
        assert!(json("payload", "nesting", r#"{"a":"\u0001 u0000"}"#).is_ok());
    }

    #[test]
    fn numbers_are_as_long_as_can_be_searched_for() {
        let allowed = |text: &str| json("payload", "nesting", text).is_ok();
        assert!(allowed(r#"[1e9999,-2.5E-9999,true,"1e12345",12345678,{"a":12345}]"#));
        assert!(allowed(&"7".repeat(5000)));
        assert!(!allowed(&"7".repeat(5001)));
        assert!(!allowed(&format!("[0.{}]", "7".repeat(5000))));
        assert!(!allowed("1e10000"));
        assert!(!allowed(r#"{"a":[1E-12345]}"#));
    }

    #[test]
    fn nesting_is_allowed_as_far_as_it_can_be_read() {
        let nested = |levels| ["[".repeat(levels), "]".repeat(levels)].concat();
        assert!(serde_json::from_str::<serde_json::Value>(&nested(NESTING)).is_ok());
        assert!(serde_json::from_str::<serde_json::Value>(&nested(NESTING + 1)).is_err());
        assert!(json("payload", "nesting", &nested(NESTING)).is_ok());
        assert!(json("payload", "nesting", &nested(NESTING + 1)).is_err());
        assert_eq!(Shape::of(&format!(r#"{{"{}\\\"[":[1]}}"#, "[".repeat(300))).depth, 2);
    }

    #[test]
    fn a_time_beyond_the_calendar_is_refused() {
        let at = |text: &str| run_at(text.parse().expect("a time"));
        assert_eq!(at("1066-10-14T09:00:00Z").expect("the past is now"), DateTime::UNIX_EPOCH);
        assert!(at("9999-12-31T23:59:59Z").is_ok());
        let error = at("+10000-01-01T00:00:00Z").expect_err("beyond it").to_string();
        assert_eq!(error, "the year of the time to run at is 10000; up to 9999 is allowed");
    }

    #[test]
    fn error_texts_lose_their_nul_and_their_excess() {
        assert_eq!(clean("a\0b"), "a\\0b");
        let long = clean(&"é".repeat(20_000));
        assert!(long.len() < 17_000 && long.ends_with("(cut)"));
    }
}
