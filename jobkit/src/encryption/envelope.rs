//! What replaces a sealed value in a payload: `{"jobkit:sealed": "key.base64"}`.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use super::{Cipher, OpenError, Unopened};
use crate::redact::{Entries, HIDDEN, astray};

/// The only key of an envelope.
const MARK: &str = "jobkit:sealed";

/// The longest id of a key.
const ID_BYTES: usize = 64;

/// Whether this may be the id of a key.
pub(super) fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=ID_BYTES).contains(&id.len()) && id.bytes().all(plain)
}

/// A value that a walk meets.
enum Met<'a> {
    /// The text of an envelope.
    Envelope(String),
    /// Anything else, as it is written.
    Value(&'a str),
}

/// Copies JSON. If `instead` returns a text for a value, that replaces the value, which is then not
/// walked. The path consists of keys: places in arrays do not count.
fn walk<E: From<serde_json::Error>>(
    json: &str,
    path: &mut Vec<String>,
    out: &mut String,
    instead: &mut impl FnMut(&[String], Met<'_>) -> Result<Option<String>, E>,
) -> Result<(), E> {
    let json = json.trim();
    let entries = if json.starts_with('{') { Some(read::<Entries<'_>>(json)?.0) } else { None };
    let met = match entries.as_deref() {
        Some([(key, value)]) if key == MARK && value.get().starts_with('"') => {
            Met::Envelope(read(value.get())?)
        }
        _ => Met::Value(json),
    };
    if let Some(text) = instead(path, met)? {
        out.push_str(&text);
        return Ok(());
    }
    if let Some(entries) = entries {
        out.push('{');
        for (place, (key, value)) in entries.into_iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            out.push_str(&serde_json::to_string(&key)?);
            out.push(':');
            path.push(key);
            walk(value.get(), path, out, instead)?;
            path.pop();
        }
        out.push('}');
    } else if json.starts_with('[') {
        out.push('[');
        for (place, value) in read::<Vec<&RawValue>>(json)?.into_iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            walk(value.get(), path, out, instead)?;
        }
        out.push(']');
    } else {
        out.push_str(json);
    }
    Ok(())
}

fn read<'a, T: Deserialize<'a>>(json: &'a str) -> serde_json::Result<T> {
    serde_json::from_str(json)
}

/// Where a value belongs. Kinds and keys of payloads contain no NUL.
fn associated(kind: &str, path: &[String]) -> Vec<u8> {
    let mut place = format!("jobkit\0{kind}");
    path.iter().for_each(|key| place.extend(["\0", key]));
    place.into_bytes()
}

fn envelope(cipher: &dyn Cipher, place: &[u8], plain: &str) -> Result<String, String> {
    let key = cipher.key();
    if !is_id(&key) {
        return Err("the id of a key must be 1 to 64 ASCII letters, digits, `_` and `-`".to_owned());
    }
    let sealed = cipher.seal(&key, plain.as_bytes(), place).map_err(|error| error.to_string())?;
    let text = URL_SAFE_NO_PAD.encode(sealed);
    Ok(format!("{{\"{MARK}\":\"{key}.{text}\"}}"))
}

/// The id of the key, and the sealed bytes.
fn parts(text: &str) -> Option<(&str, &str)> {
    text.split_once('.').filter(|(key, _)| is_id(key))
}

fn open(
    cipher: Option<&dyn Cipher>,
    kind: &str,
    path: &[String],
    text: &str,
) -> Result<String, Unopened> {
    let tampered = || Unopened::Tampered(path.join("."));
    let (key, sealed) = parts(text).ok_or_else(tampered)?;
    let sealed = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| tampered())?;
    let no_key = || Unopened::NoKey(key.to_owned());
    let opened = cipher.ok_or_else(no_key)?.open(key, &sealed, &associated(kind, path));
    let plain = opened.map_err(|error| match error {
        OpenError::NoKey => no_key(),
        OpenError::Tampered => tampered(),
    })?;
    String::from_utf8(plain).map_err(|_| tampered())
}

/// What ends a walk.
enum Ended {
    /// It is not JSON.
    Json,
    Why(Unopened),
}

impl From<serde_json::Error> for Ended {
    fn from(_: serde_json::Error) -> Self {
        Self::Json
    }
}

/// This JSON with all sealed values opened; `None` if there are none, or it is not JSON.
pub(super) fn opened(
    kind: &str,
    json: &str,
    cipher: Option<&dyn Cipher>,
) -> Result<Option<String>, Unopened> {
    let (mut out, mut any) = (String::with_capacity(json.len()), false);
    let walked = walk(json, &mut Vec::new(), &mut out, &mut |path, met| match met {
        Met::Envelope(text) => {
            any = true;
            open(cipher, kind, path, &text).map(Some).map_err(Ended::Why)
        }
        Met::Value(_) => Ok(None),
    });
    match walked {
        Ok(()) => Ok(Some(out).filter(|_| any)),
        Err(Ended::Json) => Ok(None),
        Err(Ended::Why(why)) => Err(why),
    }
}

/// How many values of this JSON are sealed with each key.
pub(crate) fn keys_in(json: &str) -> BTreeMap<String, u64> {
    let mut keys = BTreeMap::new();
    // Text that is not JSON has none.
    let _walked: Result<(), Ended> =
        walk(json, &mut Vec::new(), &mut String::new(), &mut |_, met| {
            let Met::Envelope(text) = met else { return Ok(None) };
            let key = parts(&text).map_or("", |(key, _)| key);
            *keys.entry(key.to_owned()).or_default() += 1;
            Ok(Some(String::new()))
        });
    keys
}

/// This JSON with all values that are sealed with other keys sealed with the cipher's key; `None`
/// if there are none.
///
/// # Errors
/// Why it cannot be opened or resealed.
pub(crate) fn resealed(
    kind: &str,
    json: &str,
    cipher: &dyn Cipher,
) -> Result<Option<String>, String> {
    let (mut out, mut any, to) = (String::with_capacity(json.len()), false, cipher.key());
    let walked = walk(json, &mut Vec::new(), &mut out, &mut |path, met| match met {
        Met::Envelope(text) if parts(&text).is_none_or(|(key, _)| key != to) => {
            any = true;
            let plain = open(Some(cipher), kind, path, &text).map_err(|why| why.to_string());
            let sealed = plain.and_then(|plain| envelope(cipher, &associated(kind, path), &plain));
            sealed.map(Some).map_err(de::Error::custom)
        }
        Met::Envelope(text) => Ok(Some(format!("{{\"{MARK}\":\"{text}\"}}"))),
        Met::Value(_) => Ok(None),
    });
    walked.map_err(|error: serde_json::Error| error.to_string())?;
    Ok(Some(out).filter(|_| any))
}

/// The source of a payload to be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A job of the program: anything that looks like an envelope came from outside.
    Job,
    /// Somebody who may have read the stored payload: sealed values stay as they are.
    Stored,
}

/// Seals a payload.
pub(super) struct Sealing<'a> {
    pub(super) kind: &'a str,
    pub(super) paths: Vec<Vec<&'a str>>,
    pub(super) cipher: &'a dyn Cipher,
    pub(super) reading: Reading,
}

impl Sealing<'_> {
    pub(super) fn seal(&self, json: &str) -> Result<String, String> {
        let paths: Vec<String> = self.paths.iter().map(|path| path.join(".")).collect();
        if let Some(stray) = astray(json, &paths).into_iter().next() {
            return Err(stray.to_string());
        }
        let mut out = String::with_capacity(json.len() + 128);
        let walked = walk(json, &mut Vec::new(), &mut out, &mut |path, met| {
            self.instead(path, met).map_err(de::Error::custom)
        });
        walked.map_err(|error: serde_json::Error| error.to_string())?;
        Ok(out)
    }

    fn instead(&self, path: &[String], met: Met<'_>) -> Result<Option<String>, String> {
        let here = self.paths.iter().any(|sealed| sealed.iter().eq(path));
        match (met, here) {
            (Met::Envelope(text), true) if self.reading == Reading::Stored => {
                parts(&text).ok_or("a sealed value in it is damaged")?;
                Ok(Some(format!("{{\"{MARK}\":\"{text}\"}}")))
            }
            (Met::Envelope(_), _) => Err(format!(
                "the value at `{}` looks like a sealed value: no object may have `{MARK}` as its \
                 only key",
                path.join(".")
            )),
            (Met::Value("null"), _) | (Met::Value(_), false) => Ok(None),
            (Met::Value(value), true)
                if self.reading == Reading::Stored && value == format!("\"{HIDDEN}\"") =>
            {
                Err(format!(
                    "{HIDDEN} at `{}` is the placeholder of a hidden \
                             value",
                    path.join(".")
                ))
            }
            (Met::Value(value), true) => {
                envelope(self.cipher, &associated(self.kind, path), value).map(Some)
            }
        }
    }
}
