//! How jobs end, as whoever waits for them sees it.

use std::fmt;

use serde::de::DeserializeOwned;

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// It succeeded.
    Finished(Output),
    /// It was discarded, for this reason.
    Discarded(String),
    /// It was cancelled, for this reason.
    Cancelled(String),
    /// It used up its attempts or can never run, so it is a dead letter, with this error.
    Dead(String),
    /// There is no record of such a job: its kind keeps no history, its retention is over, or it
    /// never existed.
    NothingKept,
}

impl End {
    pub(crate) fn of(EndRow { outcome, reason, result, .. }: EndRow) -> Self {
        let why = || reason.clone().unwrap_or_default();
        match &*outcome {
            "finish" => Self::Finished(Output { json: result, unfit: reason }),
            "cancel" => Self::Cancelled(why()),
            "dead" => Self::Dead(why()),
            _ => Self::Discarded(why()),
        }
    }
}

/// What a job returned.
#[derive(Clone, PartialEq, Eq)]
pub struct Output {
    pub(crate) json: Option<String>,
    /// Why it is not kept.
    pub(crate) unfit: Option<String>,
}

impl Output {
    /// Its JSON; `None` for a job that returns nothing, or whose result was not kept.
    #[must_use]
    pub fn json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    /// Decodes it as a `T`; for a job that returns nothing, that is `()`.
    ///
    /// # Errors
    /// Why it was not kept, or does not decode as a `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        match (&self.json, &self.unfit) {
            (None, Some(why)) => Err(why.clone()),
            (json, _) => serde_json::from_str(json.as_deref().unwrap_or("null"))
                .map_err(|error| format!("the result does not decode: {error}")),
        }
    }
}

/// Without the JSON, which may contain secrets.
impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.json.as_ref().map(String::len);
        f.debug_struct("Output").field("bytes", &bytes).field("unfit", &self.unfit).finish()
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished(_) => f.write_str("has finished"),
            Self::Discarded(reason) => write!(f, "was discarded: {reason}"),
            Self::Cancelled(reason) => write!(f, "was cancelled: {reason}"),
            Self::Dead(error) => write!(f, "is a dead letter: {error}"),
            Self::NothingKept => f.write_str("has ended, and no record of it is kept"),
        }
    }
}

/// How a job ended, as it is stored.
#[derive(Debug)]
pub(crate) struct EndRow {
    pub(crate) job: i64,
    /// `finish`, `discard`, `cancel` or `dead`.
    pub(crate) outcome: String,
    /// Why, or why the result is not kept.
    pub(crate) reason: Option<String>,
    pub(crate) result: Option<String>,
}
