//! Keys by their ids, and XChaCha20-Poly1305.

use std::error::Error as StdError;
use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};

use super::envelope::is_id;
use super::{Cipher, OpenError};

/// Where [`Keyring::from_env`] looks.
const VARIABLE: &str = "JOBKIT_KEYS";

/// Bytes of a key, and of the nonce before each value. A nonce is random: with this many bytes, two
/// never coincide.
const KEY: usize = 32;
const NONCE: usize = 24;

/// Keys with their ids. Values are sealed with XChaCha20-Poly1305, by the first key; every key
/// opens.
///
/// As text it is `2026b:<base64>,2026a:<base64>`, each key 32 random bytes: `openssl rand -base64
/// 32`.
///
/// ```
/// use jobkit::policy::encryption::Keyring;
///
/// let old = *b"0123456789abcdef0123456789abcdef"; // draw yours: openssl rand -base64 32
/// let new = *b"fedcba9876543210fedcba9876543210";
/// // A rotation: first everybody can open with the new key, …
/// let keys = Keyring::new("2026a", old)?.with("2026b", new)?;
/// // … then it seals, …
/// let keys = keys.sealing_with("2026b")?;
/// assert_eq!(format!("{keys:?}"), r#"Keyring(["2026b", "2026a"])"#);
/// // … and once everything is resealed the old one goes.
/// let keys = Keyring::new("2026b", new)?;
/// # Ok::<(), jobkit::policy::encryption::KeyringError>(())
/// ```
#[derive(Clone)]
pub struct Keyring(Vec<(String, XChaCha20Poly1305)>);

/// Why keys are invalid. The error never contains a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyringError {
    /// The environment variable is missing.
    #[error(
        "there are no keys; set {VARIABLE} to `id:base64`, or to several separated by commas, the \
         one that seals first"
    )]
    Missing,
    /// This entry, counted from 1, is not a key.
    #[error("entry {0} of the keys must be `id:base64`, with 32 bytes in base64")]
    Entry(usize),
    /// The id of a key is invalid.
    #[error("the id of a key must be 1 to 64 ASCII letters, digits, `_` and `-`")]
    Id,
    /// A key consists of one repeated byte, so it is not random.
    #[error(
        "the key `{0}` is not random; generate one, for example with \
             `openssl rand -base64 32`"
    )]
    NotRandom(String),
    /// Two keys have this id.
    #[error("two keys have the id `{0}`")]
    Twice(String),
    /// No key has this id.
    #[error("no key has the id `{0}`")]
    Unknown(String),
}

impl Keyring {
    /// One key, which seals and opens.
    ///
    /// # Errors
    /// [`KeyringError::Id`] and [`KeyringError::NotRandom`].
    pub fn new(id: impl Into<String>, key: [u8; KEY]) -> Result<Self, KeyringError> {
        Self(Vec::new()).with(id, key)
    }

    /// Adds a key, which only opens.
    ///
    /// # Errors
    /// [`KeyringError::Id`], [`KeyringError::NotRandom`] and [`KeyringError::Twice`].
    pub fn with(mut self, id: impl Into<String>, key: [u8; KEY]) -> Result<Self, KeyringError> {
        let id = id.into();
        if !is_id(&id) {
            return Err(KeyringError::Id);
        }
        if key == [key[0]; KEY] {
            return Err(KeyringError::NotRandom(id));
        }
        if self.0.iter().any(|(known, _)| *known == id) {
            return Err(KeyringError::Twice(id));
        }
        self.0.push((id, XChaCha20Poly1305::new(&key.into())));
        Ok(self)
    }

    /// Seals with another of its keys.
    ///
    /// # Errors
    /// [`KeyringError::Unknown`].
    pub fn sealing_with(mut self, id: &str) -> Result<Self, KeyringError> {
        let at = self.0.iter().position(|(known, _)| known == id);
        let at = at.ok_or_else(|| KeyringError::Unknown(id.to_owned()))?;
        self.0[..=at].rotate_right(1);
        Ok(self)
    }

    /// The keys in the environment variable `JOBKIT_KEYS`.
    ///
    /// # Errors
    /// See [`KeyringError`].
    pub fn from_env() -> Result<Self, KeyringError> {
        std::env::var(VARIABLE).map_err(|_| KeyringError::Missing)?.parse()
    }

    /// The ids of its keys, the one that seals first.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(id, _)| &**id)
    }

    fn get(&self, id: &str) -> Option<&XChaCha20Poly1305> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, key)| key)
    }
}

impl FromStr for Keyring {
    type Err = KeyringError;

    fn from_str(text: &str) -> Result<Self, KeyringError> {
        let mut keys = Self(Vec::new());
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        for (number, entry) in (1..).zip(entries) {
            let wrong = KeyringError::Entry(number);
            let (id, key) = entry.split_once(':').ok_or_else(|| wrong.clone())?;
            let key = STANDARD.decode(key).or_else(|_| STANDARD_NO_PAD.decode(key));
            let key = key.ok().and_then(|key| key.try_into().ok()).ok_or(wrong)?;
            keys = keys.with(id, key)?;
        }
        if keys.0.is_empty() { Err(KeyringError::Missing) } else { Ok(keys) }
    }
}

/// Only the ids.
impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keyring").field(&self.ids().collect::<Vec<_>>()).finish()
    }
}

impl Cipher for Keyring {
    fn key(&self) -> String {
        self.0.first().map(|(id, _)| id.clone()).unwrap_or_default()
    }

    fn seal(
        &self,
        key: &str,
        plain: &[u8],
        associated: &[u8],
    ) -> Result<Vec<u8>, Box<dyn StdError + Send + Sync>> {
        let key = self.get(key).ok_or_else(|| KeyringError::Unknown(key.to_owned()))?;
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce)?;
        let payload = Payload { msg: plain, aad: associated };
        let sealed = key.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.map_err(|_| "the value is too large to be sealed")?;
        Ok([&nonce[..], &sealed].concat())
    }

    fn open(&self, key: &str, sealed: &[u8], associated: &[u8]) -> Result<Vec<u8>, OpenError> {
        let key = self.get(key).ok_or(OpenError::NoKey)?;
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>().ok_or(OpenError::Tampered)?;
        let payload = Payload { msg: sealed, aad: associated };
        key.decrypt(&XNonce::from(*nonce), payload).map_err(|_| OpenError::Tampered)
    }
}
