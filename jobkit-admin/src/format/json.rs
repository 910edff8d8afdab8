//! JSON from users.

use serde::de::{DeserializeOwned, Error as _};
use serde_json::Error;

/// Parses it. Refuses an integer with more digits than can be kept without knowing its type: it
/// would be stored as a different number.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, Error> {
    let value = serde_json::from_slice(json)?;
    match numbers(json).into_iter().find(|number| !is_kept(number)) {
        Some(number) => Err(Error::custom(format!(
            "{number} has too many digits to be stored exactly; enqueue by type, or use a string"
        ))),
        None => Ok(value),
    }
}

fn is_kept(number: &str) -> bool {
    let is_whole = number.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
    !is_whole || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok()
}

/// The numbers in it, as they were written.
fn numbers(json: &[u8]) -> Vec<String> {
    let (mut numbers, mut number) = (Vec::new(), String::new());
    let (mut quoted, mut escaped) = (false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'0'..=b'9' | b'-' | b'+' | b'.' => number.push(char::from(*byte)),
            b'e' | b'E' if !number.is_empty() => number.push('e'),
            _ if !number.is_empty() => numbers.push(std::mem::take(&mut number)),
            _ => {}
        }
    }
    numbers.push(number);
    numbers.retain(|number| !number.is_empty());
    numbers
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_number_is_kept_or_refused() {
        let read = |json: &str| read::<Value>(json.as_bytes()).map_err(|error| error.to_string());
        for kept in [
            r#"{"a": [18446744073709551615, -9223372036854775808, 1e30, 1.5, -0.0, true]}"#,
            r#"{"a": "123456789012345678901234567890 \" 123456789012345678901234567890"}"#,
            "7",
        ] {
            assert!(read(kept).is_ok(), "{kept}");
        }
        for (lost, number) in [
            (r#"{"a": 18446744073709551616}"#, "18446744073709551616"),
            (r#"[1,-9223372036854775809]"#, "-9223372036854775809"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
        ] {
            let error = read(lost).expect_err(lost);
            assert!(error.starts_with(number), "{error}");
        }
        assert!(read("{").is_err());
    }
}
