//! Settings of a single job that add to those of its kind.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::InvalidValue;
use crate::hooks::{Carrier, carried};
use crate::limits::{self, LENGTHS};

/// A column of `jobs`, which the SQL functions `terms` and `require_terms` read as well.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Terms {
    /// How many seconds after it is due it may start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<f64>,
    /// For how many seconds it is retried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_for: Option<f64>,
    /// Texts from the enqueue to the handler.
    #[serde(skip_serializing_if = "Carrier::is_empty")]
    pub(crate) carried: Carrier,
}

impl Terms {
    /// The terms set when a job is enqueued.
    pub(crate) fn said(
        expires: Option<Duration>,
        retry_for: Option<Duration>,
    ) -> Result<Self, InvalidValue> {
        let seconds = |what, length: Option<Duration>| {
            let within = length.map_or(1, |length| length.as_secs());
            limits::range(what, within, LENGTHS, "1 to 31622400")?;
            Ok::<_, InvalidValue>(length.map(|length| length.as_secs_f64()))
        };
        Ok(Self {
            expires: seconds("seconds until a job expires", expires)?,
            retry_for: seconds("seconds for which a job is retried", retry_for)?,
            carried: Carrier::default(),
        })
    }

    /// The stored terms. Values that are not understood are ignored.
    pub(crate) fn read(stored: Option<&RawValue>) -> Self {
        stored.and_then(|stored| serde_json::from_str(stored.get()).ok()).unwrap_or_default()
    }

    /// The terms, unless they are empty.
    pub(crate) fn some(&self) -> Option<&Self> {
        Some(self).filter(|terms| **terms != Self::default())
    }

    /// How long after it is due the job may start.
    pub(crate) fn expires(&self, declared: Option<Duration>) -> Option<Duration> {
        self.expires.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).or(declared)
    }

    /// Adds the values that jobs carry.
    pub(crate) fn carry<'a>(jobs: impl IntoIterator<Item = &'a mut Self>) {
        let Some(carried) = carried() else { return };
        for terms in jobs {
            terms.carried.clone_from(&carried);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Terms {
        Terms::read(Some(&RawValue::from_string(text.to_owned()).expect("valid JSON")))
    }

    #[test]
    fn what_is_said_is_read_again() {
        let mut terms = Terms { expires: Some(90.0), ..Terms::default() };
        let text = |terms: &Terms| serde_json::to_string(terms).expect("it is JSON");
        assert_eq!(text(&terms), r#"{"expires":90.0}"#);
        terms.carried.set("request", "7");
        let text = text(&terms);
        assert_eq!(text, r#"{"expires":90.0,"carried":{"request":"7"}}"#);
        assert_eq!(read(&text), terms);
        let declared = Some(Duration::from_secs(1));
        assert_eq!(terms.expires(declared), Some(Duration::from_secs(90)));
    }

    #[test]
    fn what_is_not_understood_says_nothing() {
        let declared = Some(Duration::from_secs(7));
        for text in
            ["[]", "1", r#"{"expires": "1h"}"#, r#"{"expires": -1}"#, r#"{"expires": 1e300}"#]
        {
            assert_eq!(read(text).expires(declared), declared, "{text}");
        }
        assert_eq!(read(r#"{"topic": "order.paid"}"#), Terms::default());
        assert_eq!(Terms::read(None).some(), None);
    }
}
