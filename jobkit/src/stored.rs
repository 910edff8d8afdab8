//! A payload as it is stored.

use serde::de::DeserializeOwned;

use crate::policy::Policy;
use crate::redact::HIDDEN;

/// A stored payload, its version, and what of it may not be shown.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    payload: &'a [u8],
    version: u16,
    policy: &'a Policy,
}

impl<'a> Stored<'a> {
    pub(crate) fn new(payload: &'a [u8], version: u16, policy: &'a Policy) -> Self {
        Self { payload, version, policy }
    }

    /// Whether it is of the version that its kind has now.
    pub(crate) fn is_current(&self) -> bool {
        self.version == self.policy.version
    }

    /// Which version this is.
    #[must_use]
    pub fn version(&self) -> u16 {
        self.version
    }

    pub(crate) fn decode<T: DeserializeOwned>(self) -> Result<T, String> {
        let mut json = serde_json::Deserializer::from_slice(self.payload);
        // Tracking the path costs more than the decoding itself: only once there is an error to
        // place.
        T::deserialize(&mut json).or_else(|_| self.decode_by_path())
    }

    /// What serde says of a value may quote it: where something is redacted, only what cannot.
    fn decode_by_path<T: DeserializeOwned>(self) -> Result<T, String> {
        let mut json = serde_json::Deserializer::from_slice(self.payload);
        serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let message = error.inner().to_string();
            let quotes = !message.starts_with("missing field") && !self.policy.redact.is_empty();
            let (line, column) = (error.inner().line(), error.inner().column());
            let message = if quotes {
                format!("{HIDDEN} at line {line} column {column} (its kind redacts fields)")
            } else {
                message
            };
            format!("the payload{} does not decode at `{}`: {message}", self.of(), error.path())
        })
    }

    /// The function behind `upcast` said no. Where something is redacted its words are not shown:
    /// in a payload of then that may have other names.
    pub(crate) fn refused(self, error: &str) -> String {
        let error = if self.policy.redact.is_empty() { error } else { HIDDEN };
        format!("the payload{} does not become version {}: {error}", self.of(), self.policy.version)
    }

    /// A binary that knows neither this version nor how to read it.
    #[must_use]
    pub fn unknown(self) -> String {
        format!("this binary does not know version {} of `{}`", self.version, self.policy.kind)
    }

    /// Nothing where there is but one version.
    fn of(self) -> String {
        match (self.version, self.policy.version) {
            (1, 1) => String::new(),
            (version, _) => format!(" of version {version}"),
        }
    }
}
