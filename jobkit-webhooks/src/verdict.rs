//! The verdict on an answer.

use std::time::{Duration, SystemTime};

/// How long an endpoint rests after a 429 without `Retry-After`.
const REST: Duration = Duration::from_secs(60);

/// The shortest and the longest rest of an endpoint, whatever it asks for.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What happens to a delivery after its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The event has arrived.
    Delivered,
    /// The endpoint wants no more events: it is switched off, and all waiting events are discarded.
    Gone,
    /// The endpoint rests for this long: none of its events is sent. This one is retried.
    Rest(Duration),
    /// This event is retried.
    Again,
    /// The endpoint refuses this event, and would refuse it again: it becomes a dead letter.
    Refused,
}

/// The verdict on a status and on the wait that `Retry-After` asks for.
///
/// | status | `Retry-After` | verdict |
/// |---|---|---|
/// | 200–299 | | [`Delivered`](Verdict::Delivered) |
/// | 410 | | [`Gone`](Verdict::Gone) |
/// | 408, 425, 429, 500–599 | with | [`Rest`](Verdict::Rest) for that time, 1 second to 24 hours |
/// | 429 | without | [`Rest`](Verdict::Rest) for a minute |
/// | 408, 425, 500–599 | without | [`Again`](Verdict::Again) |
/// | anything else | | [`Refused`](Verdict::Refused) |
///
/// ```
/// use jobkit_webhooks::{Verdict, verdict};
///
/// assert_eq!(verdict(204, None), Verdict::Delivered);
/// assert_eq!(verdict(301, None), Verdict::Refused);
/// ```
#[must_use]
pub fn verdict(status: u16, retry_after: Option<Duration>) -> Verdict {
    match (status, retry_after) {
        (200..=299, _) => Verdict::Delivered,
        (410, _) => Verdict::Gone,
        (408 | 425 | 429 | 500..=599, Some(rest)) => Verdict::Rest(rest.clamp(SHORTEST, LONGEST)),
        (429, None) => Verdict::Rest(REST),
        (408 | 425 | 500..=599, None) => Verdict::Again,
        _ => Verdict::Refused,
    }
}

/// The wait that a header `Retry-After` asks for: seconds, or the time until a date. `None` if it
/// is neither.
pub(crate) fn rest(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    if !header.is_empty() && header.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit is the longest time.
        return Some(Duration::from_secs(header.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(header).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    #[test]
    fn every_status_has_its_verdict() {
        let ten = Some(seconds(10));
        for status in 0..=999 {
            let expected = match status {
                200..=299 => [Verdict::Delivered; 2],
                410 => [Verdict::Gone; 2],
                429 => [Verdict::Rest(seconds(60)), Verdict::Rest(seconds(10))],
                408 | 425 | 500..=599 => [Verdict::Again, Verdict::Rest(seconds(10))],
                _ => [Verdict::Refused; 2],
            };
            assert_eq!([verdict(status, None), verdict(status, ten)], expected, "{status}");
        }
    }

    #[test]
    fn a_rest_is_neither_nothing_nor_for_ever() {
        assert_eq!(verdict(429, Some(Duration::ZERO)), Verdict::Rest(seconds(1)));
        assert_eq!(verdict(503, Some(Duration::MAX)), Verdict::Rest(seconds(86_400)));
    }

    #[test]
    fn a_rest_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + seconds(784_111_777 - 30);
        let asked = |header| rest(header, now);
        assert_eq!(asked("120"), Some(seconds(120)));
        assert_eq!(asked(" 0 "), Some(Duration::ZERO));
        assert_eq!(asked("99999999999999999999999"), Some(seconds(u64::MAX)));
        // The three forms that a date may have.
        assert_eq!(asked("Sun, 06 Nov 1994 08:49:37 GMT"), Some(seconds(30)));
        assert_eq!(asked("Sunday, 06-Nov-94 08:49:37 GMT"), Some(seconds(30)));
        assert_eq!(asked("Sun Nov  6 08:49:37 1994"), Some(seconds(30)));
        // It is over.
        assert_eq!(asked("Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        for nonsense in ["", "soon", "-5", "1.5", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(asked(nonsense), None, "{nonsense}");
        }
    }
}
