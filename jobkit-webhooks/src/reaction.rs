//! The reaction on an answer.

use std::time::{Duration, SystemTime};

/// How long an endpoint rests after a 429 without `Retry-After`.
const REST: Duration = Duration::from_secs(60);

/// The shortest and the longest rest of an endpoint, whatever it asks for.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What happens to a delivery after its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
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

/// The reaction on a status and on the wait that `Retry-After` asks for.
///
/// | status | `Retry-After` | reaction |
/// |---|---|---|
/// | 200–299 | | [`Delivered`](Reaction::Delivered) |
/// | 410 | | [`Gone`](Reaction::Gone) |
/// | 408, 425, 429, 500–599 | with | [`Rest`](Reaction::Rest) for that time, 1 second to 24 hours |
/// | 429 | without | [`Rest`](Reaction::Rest) for a minute |
/// | 408, 425, 500–599 | without | [`Again`](Reaction::Again) |
/// | anything else | | [`Refused`](Reaction::Refused) |
///
/// ```
/// use jobkit_webhooks::{Reaction, reaction};
///
/// assert_eq!(reaction(204, None), Reaction::Delivered);
/// assert_eq!(reaction(301, None), Reaction::Refused);
/// ```
#[must_use]
pub fn reaction(status: u16, retry_after: Option<Duration>) -> Reaction {
    match (status, retry_after) {
        (200..=299, _) => Reaction::Delivered,
        (410, _) => Reaction::Gone,
        (408 | 425 | 429 | 500..=599, Some(rest)) => Reaction::Rest(rest.clamp(SHORTEST, LONGEST)),
        (429, None) => Reaction::Rest(REST),
        (408 | 425 | 500..=599, None) => Reaction::Again,
        _ => Reaction::Refused,
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
    fn every_status_has_its_reaction() {
        let ten = Some(seconds(10));
        for status in 0..=999 {
            let expected = match status {
                200..=299 => [Reaction::Delivered; 2],
                410 => [Reaction::Gone; 2],
                429 => [Reaction::Rest(seconds(60)), Reaction::Rest(seconds(10))],
                408 | 425 | 500..=599 => [Reaction::Again, Reaction::Rest(seconds(10))],
                _ => [Reaction::Refused; 2],
            };
            assert_eq!([reaction(status, None), reaction(status, ten)], expected, "{status}");
        }
    }

    #[test]
    fn a_rest_is_neither_nothing_nor_for_ever() {
        assert_eq!(reaction(429, Some(Duration::ZERO)), Reaction::Rest(seconds(1)));
        assert_eq!(reaction(503, Some(Duration::MAX)), Reaction::Rest(seconds(86_400)));
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
