//! What a job says of its own time, beside what its kind says.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::InvalidValue;
use crate::limits::{self, LENGTHS};

/// The part of a job's metadata that is jobkit's: what was said when it was enqueued.
const PART: &str = "jobkit";

/// How long a job may wait and be tried, in seconds; the SQL function `terms` reads it as well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Terms {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_for: Option<f64>,
}

impl Terms {
    /// What is said when a job is enqueued.
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
        })
    }

    /// Says it in metadata; `None` where that is no object, and so has no room for it.
    pub(crate) fn within(
        self,
        metadata: Option<serde_json::Value>,
    ) -> Option<Option<serde_json::Value>> {
        if self == Self::default() {
            return Some(metadata);
        }
        let mut metadata =
            metadata.unwrap_or_else(|| serde_json::Value::Object(Default::default()));
        let said = serde_json::to_value(self).unwrap_or_default();
        metadata.as_object_mut()?.insert(PART.to_owned(), said);
        Some(Some(metadata))
    }

    /// What metadata says. Whoever wrote it, what is not understood says nothing.
    fn of(metadata: &RawValue) -> Self {
        #[derive(Deserialize)]
        struct Metadata {
            jobkit: Option<Terms>,
        }
        let said = metadata.get().contains(PART);
        let metadata = said.then(|| serde_json::from_str::<Metadata>(metadata.get()).ok());
        metadata.flatten().and_then(|metadata| metadata.jobkit).unwrap_or_default()
    }

    /// How long after it is due a job may begin that has this metadata.
    pub(crate) fn expires(
        metadata: Option<&RawValue>,
        declared: Option<Duration>,
    ) -> Option<Duration> {
        let own = metadata.and_then(|metadata| Self::of(metadata).expires);
        own.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).or(declared)
    }
}

/// The topic to which a job was published that has this metadata (`fan_out`).
pub(crate) fn published_to(metadata: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Metadata {
        jobkit: Published,
    }
    #[derive(Deserialize)]
    struct Published {
        topic: String,
    }
    let metadata = metadata.contains("\"topic\"").then_some(metadata)?;
    serde_json::from_str::<Metadata>(metadata).ok().map(|metadata| metadata.jobkit.topic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("valid JSON")
    }

    #[test]
    fn what_is_said_is_read_again_beside_what_was_there() {
        let terms = Terms { expires: Some(90.0), retry_for: None };
        let metadata = terms.within(Some(serde_json::json!({ "who": "ada" }))).flatten();
        let text = metadata.expect("an object has room").to_string();
        assert_eq!(text, r#"{"jobkit":{"expires":90.0},"who":"ada"}"#);
        let expires = Terms::expires(Some(&raw(&text)), Some(Duration::from_secs(1)));
        assert_eq!(expires, Some(Duration::from_secs(90)));
    }

    #[test]
    fn metadata_without_room_is_no_metadata_with_it() {
        let terms = Terms { expires: None, retry_for: Some(1.0) };
        assert_eq!(terms.within(Some(serde_json::json!([1]))), None);
        assert_eq!(Terms::default().within(None), Some(None));
        let untouched = Some(serde_json::json!([1]));
        assert_eq!(Terms::default().within(untouched.clone()), Some(untouched));
    }

    #[test]
    fn what_is_not_understood_says_nothing() {
        let declared = Some(Duration::from_secs(7));
        for text in [
            "[]",
            "\"jobkit\"",
            r#"{"jobkit": 1}"#,
            r#"{"jobkit": {"expires": "1h"}}"#,
            r#"{"jobkit": {"expires": -1}}"#,
            r#"{"jobkit": {"expires": 1e300}}"#,
        ] {
            assert_eq!(Terms::expires(Some(&raw(text)), declared), declared, "{text}");
        }
    }
}
