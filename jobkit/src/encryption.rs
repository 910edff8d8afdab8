//! Seals and opens fields of payloads; what users see of it is in [`crate::policy::encryption`].

mod envelope;
mod keyring;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use self::envelope::Sealing;
pub(crate) use self::envelope::{Reading, keys_in, resealed};
pub use self::keyring::{Keyring, KeyringError};
use crate::lock::Lock;
use crate::policy::Policy;

/// How values are sealed and opened: by a [`Keyring`], or by an implementation that uses your key
/// service.
///
/// The associated bytes say where a value belongs: kind and path. An implementation must
/// authenticate them together with the value, so that it cannot be moved elsewhere.
pub trait Cipher: Send + Sync + 'static {
    /// The id of the key that seals from now on: 1 to 64 ASCII letters, digits, `_` and `-`. It is
    /// stored in plain text with each value.
    fn key(&self) -> String;

    /// Seals a value with this key, whose id [`key`](Self::key) has returned.
    ///
    /// # Errors
    /// Why it cannot be sealed; nothing is stored then. The text of the error is shown.
    fn seal(
        &self,
        key: &str,
        plain: &[u8],
        associated: &[u8],
    ) -> Result<Vec<u8>, Box<dyn StdError + Send + Sync>>;

    /// Opens what was sealed with this key.
    ///
    /// # Errors
    /// See [`OpenError`].
    fn open(&self, key: &str, sealed: &[u8], associated: &[u8]) -> Result<Vec<u8>, OpenError>;
}

/// Why a value was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The key is not available in this process, or not now: the job is put back, uncharged.
    #[error("the key is not available here")]
    NoKey,
    /// The value was changed or moved since it was sealed: the payload does not decode.
    #[error("the value is not what was sealed for this place")]
    Tampered,
}

static CIPHER: Lock<Option<Arc<dyn Cipher>>> = Lock::new(None);

/// Sets the keys with which this process seals and opens values, for everything it enqueues and all
/// its workers. Call it at startup; a later call replaces the keys.
pub fn keys(cipher: impl Cipher) {
    *CIPHER.lock() = Some(Arc::new(cipher));
}

/// The keys of this process.
pub(crate) fn cipher() -> Option<Arc<dyn Cipher>> {
    CIPHER.lock().clone()
}

pub(crate) fn has_keys() -> bool {
    CIPHER.lock().is_some()
}

/// Why a payload cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unopened {
    /// This process does not have the key with this id.
    NoKey(String),
    /// The value at this path was tampered with.
    Tampered(String),
}

impl Unopened {
    /// The id of the missing key, if that is the reason.
    pub(crate) fn missing_key(&self) -> Option<&str> {
        match self {
            Self::NoKey(key) => Some(key),
            Self::Tampered(_) => None,
        }
    }
}

impl fmt::Display for Unopened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoKey(key) => write!(
                f,
                "the payload is sealed with the key `{key}`, which this process does not have"
            ),
            Self::Tampered(path) => write!(
                f,
                "the payload does not decode at `{path}`: it is not what was sealed there"
            ),
        }
    }
}

/// The JSON with these paths sealed; `None` if there is nothing to seal.
///
/// # Errors
/// Why it cannot be sealed.
pub(crate) fn sealed(
    kind: &str,
    paths: &[impl AsRef<str>],
    json: &str,
    reading: Reading,
) -> Result<Option<String>, String> {
    if paths.is_empty() {
        return Ok(None);
    }
    let cipher = cipher().ok_or(
        "this process has no keys; set them with `jobkit::policy::encryption::keys` before the \
         first enqueue",
    )?;
    let paths = paths.iter().map(|path| path.as_ref().split('.').collect()).collect();
    Sealing { kind, paths, cipher: &*cipher, reading }.seal(json).map(Some)
}

/// The payload of a job stored under this kind or alias, with its sealed values opened. An older
/// version may have sealed other fields.
///
/// # Errors
/// Why it cannot be opened.
pub(crate) fn opened<'p>(
    policy: &Policy,
    kind: &str,
    version: u16,
    payload: &'p [u8],
) -> Result<Cow<'p, [u8]>, Unopened> {
    if policy.encrypt.is_empty() && version == policy.version {
        return Ok(Cow::Borrowed(payload));
    }
    // Bytes that are not text are not JSON either, which the decoding reports.
    let Ok(json) = std::str::from_utf8(payload) else { return Ok(Cow::Borrowed(payload)) };
    let opened = envelope::opened(kind, json, cipher().as_deref())?;
    Ok(opened.map_or(Cow::Borrowed(payload), |json| Cow::Owned(json.into_bytes())))
}
