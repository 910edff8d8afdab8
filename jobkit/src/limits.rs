//! What may be stored. Everything is checked before it is sent: an error of the database would
//! abort the caller's transaction.

use std::ops::RangeInclusive;

use crate::Error;

/// Largest payload with its metadata, as JSON text.
pub(crate) const PAYLOAD_BYTES: usize = 1024 * 1024;
/// Largest sum of payloads of one call.
pub(crate) const BATCH_BYTES: usize = 256 * 1000 * 1000;
/// Longest queue, kind, group or tag.
pub(crate) const NAME_BYTES: usize = 128;
/// Longest key.
pub(crate) const KEY_BYTES: usize = 512;
/// Most tags of a job.
pub(crate) const TAGS: usize = 32;

/// Checks a text that must not be empty.
pub(crate) fn name(what: &'static str, text: &str, limit: usize) -> Result<(), Error> {
    if text.is_empty() {
        return Err(Error::Length { what, bytes: 0, limit });
    }
    self::text(what, text, limit)
}

/// Checks a text that may be empty.
pub(crate) fn text(what: &'static str, text: &str, limit: usize) -> Result<(), Error> {
    if text.len() > limit {
        return Err(Error::Length { what, bytes: text.len(), limit });
    }
    if text.contains('\0') { Err(Error::Nul { what }) } else { Ok(()) }
}

/// Checks JSON text: jsonb refuses the escape of NUL.
pub(crate) fn json(what: &'static str, json: &str) -> Result<(), Error> {
    if json.contains("\\u0000") && escapes_nul(json) { Err(Error::Nul { what }) } else { Ok(()) }
}

/// Whether `\u0000` really is an escape: an odd number of backslashes stands before the `u`.
fn escapes_nul(json: &str) -> bool {
    let mut backslashes = 0;
    json.char_indices().any(|(at, c)| {
        let escaped = backslashes % 2 == 1;
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        escaped && c == 'u' && json[at + 1..].starts_with("0000")
    })
}

/// Checks a number.
pub(crate) fn range<T: PartialOrd + Copy + TryInto<i64>>(
    what: &'static str,
    value: T,
    allowed: RangeInclusive<T>,
    range: &'static str,
) -> Result<(), Error> {
    if allowed.contains(&value) {
        return Ok(());
    }
    Err(Error::Range { what, value: value.try_into().unwrap_or(i64::MAX), range })
}

/// Error texts may contain anything; PostgreSQL takes no NUL, and the log is no dump.
pub(crate) fn clean(text: &str) -> String {
    const LONGEST: usize = 16 * 1024;
    let mut clean = text.replace('\0', "\\0");
    if clean.len() > LONGEST {
        let end = clean.floor_char_boundary(LONGEST);
        clean.truncate(end);
        clean.push_str(" … (cut)");
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_real_nul_escape_is_refused() {
        assert!(json("payload", r#"{"a":"\u0000"}"#).is_err());
        assert!(json("payload", r#"{"a":"\\\u0000"}"#).is_err());
        assert!(json("payload", r#"{"a":"\\u0000"}"#).is_ok());
        assert!(json("payload", r#"{"a":"\u0001 u0000"}"#).is_ok());
    }

    #[test]
    fn error_texts_lose_their_nul_and_their_excess() {
        assert_eq!(clean("a\0b"), "a\\0b");
        let long = clean(&"é".repeat(20_000));
        assert!(long.len() < 17_000 && long.ends_with("(cut)"));
    }
}
