use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Anything longer than zero.
const ANY: Duration = Duration::from_nanos(1);

/// The purpose of a duration: its limits, and what to write instead of an invalid one.
pub(crate) struct Purpose {
    pub(crate) shortest: Duration,
    pub(crate) too_short: &'static str,
    pub(crate) longest: Duration,
    pub(crate) too_long: &'static str,
}

pub(crate) const TIMEOUT: Purpose = Purpose {
    shortest: ANY,
    too_short: "a timeout of zero would stop every attempt at once: write `timeout = none` for no \
                limit",
    longest: DAY.saturating_mul(90),
    too_long: "a timeout is at most `90d`: shorten it, or write `timeout = none` for no limit",
};

pub(crate) const RETENTION: Purpose = Purpose {
    shortest: ANY,
    too_short: "a retention of zero keeps nothing: write `retention = none` instead",
    longest: DAY.saturating_mul(90),
    too_long: "a job is kept for at most 90 days after it has ended: write `retention = \"90d\"` \
               or less",
};

pub(crate) const EXPIRES: Purpose = Purpose {
    shortest: Duration::from_secs(1),
    too_short: "`expires` is at least one second: write `expires = \"1s\"` or more, or leave it \
                out if the job may start at any time",
    longest: DAY.saturating_mul(366),
    too_long: "a job expires after at most 366 days: write `expires = \"366d\"` or less",
};

pub(crate) const RETRY_FOR: Purpose = Purpose {
    shortest: Duration::from_secs(1),
    too_short: "`retry_for` is at least one second: write `retry_for = \"1s\"` or more, or \
                `max_attempts = 1` for no retries",
    longest: DAY.saturating_mul(366),
    too_long: "a job is retried for at most 366 days: write `retry_for = \"366d\"` or less",
};

pub(crate) const WAIT: Purpose = Purpose {
    shortest: ANY,
    too_short: "a wait must be longer than zero: write `1ms` or more",
    longest: DAY,
    too_long: "a wait is at most 24 hours: write `24h` or less",
};

pub(crate) const LINGER: Purpose = Purpose {
    shortest: Duration::from_millis(1),
    too_short: "`linger` is at least one millisecond: write `linger = \"1ms\"` or more",
    longest: Duration::from_secs(60),
    too_long: "`linger` is at most one minute: write `linger = \"1m\"` or less",
};

pub(crate) const UNIQUE: Purpose = Purpose {
    shortest: Duration::from_secs(1),
    too_short: "a key is held for at least a second: write `unique_for = \"1s\"` or more, or leave \
                it out to free the key when the job ends",
    longest: DAY.saturating_mul(366),
    too_long: "a key is held for at most 366 days: write `unique_for = \"366d\"` or less",
};

pub(crate) const REPLAY: Purpose = Purpose {
    shortest: Duration::from_secs(1),
    too_short: "a dead letter waits at least one second before it is replayed: write \
                `auto_replay = \"1s\"` or more, and use `backoff` for quicker retries",
    longest: DAY.saturating_mul(30),
    too_long: "a dead letter is replayed after at most 30 days: write `auto_replay = \"30d\"` or \
               less, or `auto_replay = none` to leave it to a human",
};

/// Reads a duration such as `"90s"`, `"1h 30m"` or `"7d"`.
pub(crate) fn read(text: &LitStr, purpose: &Purpose) -> Result<Duration> {
    let refuse = |reason: &str| Err(Error::new_spanned(text, reason));
    let Ok(duration) = humantime::parse_duration(&text.value()) else {
        return refuse("expected a number with a unit, such as `500ms`, `90s`, `1h 30m` or `7d`");
    };
    if duration < purpose.shortest {
        return refuse(purpose.too_short);
    }
    if duration > purpose.longest {
        return refuse(purpose.too_long);
    }
    if duration.subsec_nanos() % 1_000_000 != 0 {
        return refuse("a duration is in whole milliseconds: write `1ms` or a multiple of it");
    }
    Ok(duration)
}

/// The code that creates this duration.
pub(crate) fn code(duration: Duration) -> TokenStream {
    if duration.subsec_nanos() == 0 {
        let seconds = duration.as_secs();
        return quote!(::core::time::Duration::from_secs(#seconds));
    }
    let millis = u64::try_from(duration.as_millis()).expect("`read` allows 366 days at most");
    quote!(::core::time::Duration::from_millis(#millis))
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::*;

    fn refusal(text: &str, purpose: &Purpose) -> String {
        let text = LitStr::new(text, Span::call_site());
        read(&text, purpose).expect_err("it should be refused").to_string()
    }

    #[test]
    fn numbers_with_units_are_read() {
        for (text, millis) in [("500ms", 500), ("90s", 90_000), ("1h 30m", 5_400_000)] {
            let text = LitStr::new(text, Span::call_site());
            let duration = read(&text, &TIMEOUT).expect("the form is accepted");
            assert_eq!(duration, Duration::from_millis(millis));
        }
    }

    #[test]
    fn durations_that_cannot_be_are_refused_with_advice() {
        assert_eq!(refusal("0s", &TIMEOUT), TIMEOUT.too_short);
        assert_eq!(refusal("0", &WAIT), WAIT.too_short);
        assert_eq!(refusal("999ms", &REPLAY), REPLAY.too_short);
        assert_eq!(refusal("91d", &RETENTION), RETENTION.too_long);
        assert_eq!(refusal("25h", &WAIT), WAIT.too_long);
        assert_eq!(refusal("30d 1s", &REPLAY), REPLAY.too_long);
        assert!(refusal("5us", &WAIT).contains("milliseconds"));
        for text in ["", "90", "soon", "-5s", "5 parsecs"] {
            assert!(refusal(text, &WAIT).starts_with("expected a number with a unit"), "{text}");
        }
    }

    #[test]
    fn whole_seconds_are_written_as_seconds() {
        let written = |millis| code(Duration::from_millis(millis)).to_string();
        assert!(written(90_000).ends_with("from_secs (90u64)"));
        assert!(written(1_500).ends_with("from_millis (1500u64)"));
    }
}
