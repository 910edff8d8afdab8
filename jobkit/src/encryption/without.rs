//! A stand-in for `encryption`, without the feature.

use std::borrow::Cow;
use std::fmt;

use crate::policy::Policy;

/// Nothing is opened, so opening cannot fail.
#[derive(Debug)]
pub(crate) enum Unopened {}

impl Unopened {
    pub(crate) fn missing_key(&self) -> Option<&str> {
        match *self {}
    }
}

impl fmt::Display for Unopened {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

/// The source of a payload to be sealed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reading {
    Job,
    Stored,
}

pub(crate) fn has_keys() -> bool {
    false
}

/// Nothing can be sealed.
pub(crate) fn sealed(
    _kind: &str,
    paths: &[impl AsRef<str>],
    _json: &str,
    _reading: Reading,
) -> Result<Option<String>, String> {
    match paths {
        [] => Ok(None),
        _ => Err("jobkit is built without its feature `encrypt`".to_owned()),
    }
}

/// The payload as it is.
#[expect(clippy::unnecessary_wraps, reason = "as it is with the feature")]
pub(crate) fn opened<'p>(
    _policy: &Policy,
    _kind: &str,
    _version: u16,
    payload: &'p [u8],
) -> Result<Cow<'p, [u8]>, Unopened> {
    Ok(Cow::Borrowed(payload))
}
