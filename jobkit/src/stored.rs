//! A payload as it is stored.

use serde::de::DeserializeOwned;

use crate::policy::Policy;
use crate::redact::HIDDEN;

/// A stored payload, its version, and what must be hidden of it.
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

    /// Whether it is of the current version of its kind.
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
        // Tracking the path costs more than the decoding itself, so it is only done after an error.
        T::deserialize(&mut json).or_else(|_| self.decode_by_path())
    }

    /// An error of serde may quote a value, so if the kind redacts fields only safe errors are
    /// shown.
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

    /// The error of an `upcast` function. It is not shown if the kind redacts fields, which may
    /// have had other names in the old payload.
    pub(crate) fn refused(self, error: &str) -> String {
        let error = if self.policy.redact.is_empty() { error } else { HIDDEN };
        format!("the payload{} does not become version {}: {error}", self.of(), self.policy.version)
    }

    /// The error of a binary that cannot read this version.
    #[must_use]
    pub fn unknown(self) -> String {
        format!("this binary does not know version {} of `{}`", self.version, self.policy.kind)
    }

    /// Empty if there is only one version.
    fn of(self) -> String {
        match (self.version, self.policy.version) {
            (1, 1) => String::new(),
            (version, _) => format!(" of version {version}"),
        }
    }
}
