//! Payloads as a visitor may see them. They stay text, so that numbers keep all their digits.

use jobkit::admin::Payload;
use serde_json::Value;

use crate::access::Redaction;
use crate::format::invisible;

/// The placeholder for a hidden value.
const HIDDEN: &str = "•••";

/// A payload as JSON; if `redaction` is `None`, only its structure is shown.
pub(crate) fn json(payload: &Payload, redaction: Option<Redaction>) -> String {
    match redaction {
        Some(Redaction::Nothing) => payload.reveal().to_owned(),
        Some(Redaction::Marked) => payload.redacted(),
        Some(Redaction::Everything) | None => {
            hidden(&serde_json::from_str(&payload.redacted()).unwrap_or_default()).to_string()
        }
    }
}

/// The same, indented, for people.
pub(crate) fn shown(payload: &Payload, redaction: Option<Redaction>) -> String {
    invisible::escaped_in(&indented(&json(payload, redaction)))
}

/// Whether a visitor sees all of it.
pub(crate) fn is_whole(payload: &Payload, redaction: Option<Redaction>) -> bool {
    payload.is_readable() && json(payload, redaction) == payload.reveal()
}

/// The details of an action, without payloads.
pub(crate) fn circumstances(detail: &Value) -> String {
    invisible::escaped_in(&serde_json::to_string_pretty(detail).unwrap_or_default())
}

/// The structure of a value, without its content.
fn hidden(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), hidden(value))).collect()
        }
        Value::Array(items) => items.iter().map(hidden).collect(),
        _ => HIDDEN.into(),
    }
}

/// JSON with a line for each value.
fn indented(json: &str) -> String {
    let (mut text, mut depth, mut in_text, mut escaped) = (String::new(), 0, false, false);
    let line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth));
    };
    let mut letters = json.chars().peekable();
    while let Some(c) = letters.next() {
        if in_text {
            text.push(c);
            in_text = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '{' | '[' => {
                text.push(c);
                while letters.next_if(|next| next.is_whitespace()).is_some() {}
                if let Some(end) = letters.next_if(|next| matches!(next, '}' | ']')) {
                    text.push(end);
                } else {
                    depth += 1;
                    line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut text, depth);
                text.push(c);
            }
            ',' => {
                text.push(c);
                line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            c if c.is_whitespace() => {}
            c => {
                in_text = c == '"';
                text.push(c);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indented_json_is_the_same_json() {
        let json =
            r#"{"a":[1,{"b":"x, {y}: \"z\" \\"}],"c":{},"d":[ ],"e":12345678901234567890.10}"#;
        let text = indented(json);
        assert_eq!(text.lines().count(), 11, "{text}");
        assert!(text.contains("\n  \"e\": 12345678901234567890.10\n}"));
        let value = |text: &str| serde_json::from_str::<Value>(text).ok();
        assert!(value(json).is_some() && value(json) == value(&text));
    }

    #[test]
    fn what_is_hidden_keeps_its_shape() {
        let value = serde_json::json!({"card": "4711", "items": [1, {"a": null}]});
        let expected = serde_json::json!({"card": "•••", "items": ["•••", {"a": "•••"}]});
        assert_eq!(hidden(&value), expected);
    }
}
