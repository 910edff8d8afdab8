//! What must not be shown is taken out of texts.

/// What stands in the place of a value that is not shown.
pub(crate) const HIDDEN: &str = "•••";

/// The texts of the values at those paths, the longest first; without those so short that they may
/// stand for anything.
pub(crate) fn hidden_texts(json: &str, paths: &[&str]) -> Vec<String> {
    const SHORTEST: usize = 4;
    let Ok(value) = serde_json::from_str::<serde_json::Value>(json) else { return Vec::new() };
    let mut texts = Vec::new();
    for path in paths {
        let names: Vec<&str> = path.split('.').collect();
        collect(&value, &names, &mut texts);
    }
    texts.retain(|text| text.len() >= SHORTEST);
    texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    texts.dedup();
    texts
}

fn collect(value: &serde_json::Value, path: &[&str], texts: &mut Vec<String>) {
    use serde_json::Value;
    match (value, path) {
        (Value::Array(values), _) => values.iter().for_each(|value| collect(value, path, texts)),
        (Value::Object(fields), [name, rest @ ..]) => {
            if let Some(value) = fields.get(*name) {
                collect(value, rest, texts);
            }
        }
        (Value::Object(fields), []) => {
            fields.values().for_each(|value| collect(value, path, texts));
        }
        (Value::String(text), []) => {
            texts.push(text.clone());
            // As `Debug` and JSON show it.
            let quoted = Value::from(&**text).to_string();
            texts.push(quoted[1..quoted.len() - 1].to_owned());
        }
        (Value::Number(number), []) => texts.push(number.to_string()),
        _ => {}
    }
}

/// This text without those.
pub(crate) fn scrubbed(text: &str, hidden: &[String]) -> String {
    hidden.iter().fold(text.to_owned(), |text, hidden| text.replace(&**hidden, HIDDEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_values_are_taken_out_of_texts() {
        let json = r#"{"token": "se\"cret", "pin": 12, "card": {"n": [123456]}, "shown": "shown"}"#;
        let hidden = hidden_texts(json, &["token", "pin", "card", "none.x"]);
        let text = r#"se"cret and "se\"cret", 12 of 123456 shown"#;
        assert_eq!(scrubbed(text, &hidden), r#"••• and "•••", 12 of ••• shown"#);
    }
}
