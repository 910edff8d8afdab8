//! Times in the server's range: years from 4713 BC to 294276, and `infinity` and `-infinity`.
//! chrono's conversion panics beyond its own range.

use std::fmt::Write;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::PgInterval;
use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo, PgValueRef};
use sqlx::{Decode, Encode, Postgres, Type};

/// A duration as an interval of PostgreSQL: in microseconds, at most 10,000 years.
pub(crate) fn interval(duration: Duration) -> PgInterval {
    const LONGEST: i64 = 10_000 * 365 * 24 * 60 * 60 * 1_000_000;
    let microseconds = i64::try_from(duration.as_micros()).unwrap_or(LONGEST).min(LONGEST);
    PgInterval { months: 0, days: 0, microseconds }
}

/// The same as text.
pub(crate) fn interval_text(duration: Duration) -> String {
    text_of(&interval(duration))
}

/// Hours, minutes and seconds, which every server and `IntervalStyle` reads alike.
pub(super) fn text_of(interval: &PgInterval) -> String {
    let (seconds, micros) = (interval.microseconds / 1_000_000, interval.microseconds % 1_000_000);
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    let (hours, minutes) = (minutes / 60, minutes % 60);
    let mut text = String::new();
    // Writing to a string does not fail.
    let _written = write!(text, "{hours}:{minutes:02}:{seconds:02}.{micros:06}");
    text
}

/// Microseconds from 1970 to 2000, the server's epoch.
const EPOCH: i64 = 946_684_800_000_000;

/// A time clamped to chrono's range. The last one goes back to the server as `infinity`, so that a
/// page can continue after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) DateTime<Utc>);

impl Time {
    fn from_micros(since_2000: i64) -> Self {
        let time = since_2000.checked_add(EPOCH).and_then(DateTime::from_timestamp_micros);
        let end = if since_2000 < 0 { DateTime::<Utc>::MIN_UTC } else { DateTime::<Utc>::MAX_UTC };
        Self(time.unwrap_or(end))
    }

    fn micros(self) -> i64 {
        match self.0 {
            time if time == DateTime::<Utc>::MAX_UTC => i64::MAX,
            time if time == DateTime::<Utc>::MIN_UTC => i64::MIN,
            time => time.timestamp_micros().saturating_sub(EPOCH),
        }
    }
}

impl Type<Postgres> for Time {
    fn type_info() -> PgTypeInfo {
        <DateTime<Utc> as Type<Postgres>>::type_info()
    }
}

impl<'r> Decode<'r, Postgres> for Time {
    fn decode(value: PgValueRef<'r>) -> Result<Self, BoxDynError> {
        <i64 as Decode<Postgres>>::decode(value).map(Self::from_micros)
    }
}

impl Encode<'_, Postgres> for Time {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        <i64 as Encode<Postgres>>::encode_by_ref(&self.micros(), buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_can_say_is_a_time_and_comes_back_as_it_was() {
        for micros in [i64::MIN, -EPOCH, 0, 1, 845_486_544_000_000, i64::MAX] {
            assert_eq!(Time::from_micros(micros).micros(), micros);
        }
        assert_eq!(Time::from_micros(0).0.to_rfc3339(), "2000-01-01T00:00:00+00:00");
        // The year 294276: further than chrono counts.
        assert_eq!(Time::from_micros(9_223_371_331_200_000_000 - 1).0, DateTime::<Utc>::MAX_UTC);
    }

    #[test]
    fn intervals_are_hours_whatever_their_length() {
        assert_eq!(interval_text(Duration::from_micros(1)), "0:00:00.000001");
        assert_eq!(interval_text(Duration::from_secs(90_061)), "25:01:01.000000");
        assert_eq!(interval_text(Duration::MAX), "87600000:00:00.000000");
    }
}
