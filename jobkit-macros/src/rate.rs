//! Rates: how often jobs of a key may start.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};

/// A rate as it is stored: the time from one slot to the next, and how many slots may be taken at
/// once.
pub(crate) struct Rate {
    pub(crate) every: Duration,
    pub(crate) burst: u32,
}

impl Rate {
    /// Reads a rate such as `"100/min"`. The default `burst` is a second's worth, so that a late
    /// check loses nothing.
    pub(crate) fn read(text: &LitStr, burst: Option<u32>) -> Result<Self> {
        let refuse = |reason: &str| Err(Error::new_spanned(text, reason));
        let value = text.value();
        let number = |text: &str| text.trim().parse::<u64>().ok().filter(|number| *number > 0);
        let parsed = value
            .split_once('/')
            .and_then(|(count, unit)| Some((number(count)?, seconds(unit.trim())?)));
        let Some((count, seconds)) = parsed else {
            return refuse("expected a rate, such as `5/s`, `100/min` or `1000/h`");
        };
        let micros = (seconds * 1_000_000 + count / 2) / count;
        if micros < 100 {
            return refuse("a rate is at most `10000/s`");
        }
        let burst = burst.unwrap_or_else(|| u32::try_from(1_000_000 / micros).unwrap_or(1).max(1));
        Ok(Self { every: Duration::from_micros(micros), burst })
    }

    /// The code of its `Some`.
    pub(crate) fn code(&self) -> TokenStream {
        let Self { every, burst } = self;
        let micros = u64::try_from(every.as_micros()).expect("`read` allows a day at most");
        quote!(::core::option::Option::Some(::jobkit::private::Rate {
            every: ::core::time::Duration::from_micros(#micros),
            burst: #burst
        }))
    }
}

fn seconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "s" | "sec" | "second" => 1,
        "m" | "min" | "minute" => 60,
        "h" | "hour" => 60 * 60,
        "d" | "day" => 24 * 60 * 60,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::*;

    fn read(text: &str, burst: Option<u32>) -> Result<(u128, u32)> {
        let rate = Rate::read(&LitStr::new(text, Span::call_site()), burst)?;
        Ok((rate.every.as_micros(), rate.burst))
    }

    #[test]
    fn rates_are_read() {
        for (text, burst, rate) in [
            ("100/min", None, (600_000, 1)),
            ("100/min", Some(20), (600_000, 20)),
            ("50 / s", None, (20_000, 50)),
            ("7/s", Some(1), (142_857, 1)),
            ("1/day", None, (86_400_000_000, 1)),
            ("10000/s", None, (100, 10_000)),
        ] {
            assert_eq!(read(text, burst).expect("the form is accepted"), rate, "{text}");
        }
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for text in ["", "5", "5/", "/s", "0/s", "5/week", "1.5/s", "-1/s", "10001/s", "20000/s"] {
            let refused = read(text, None).is_err();
            assert_eq!(refused, text != "10001/s", "{text}");
        }
    }
}
