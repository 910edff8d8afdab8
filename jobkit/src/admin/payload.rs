//! Payloads as stored, and redacted.

use std::fmt;

use crate::redact::{HIDDEN, astray};

/// The placeholder for a payload that cannot be shown.
const UNREADABLE: &str = "unreadable: it contains a NUL, an unpaired surrogate or a number out of \
                          range";

/// What is hidden of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hides {
    /// Every value: nobody has announced what may be seen.
    All,
    /// The values at these paths: keys separated by dots. A payload of another form is hidden as a
    /// whole.
    Paths(Vec<String>),
    /// The same for a job's result, which need not be an object.
    Result(Vec<String>),
}

/// JSON as it is stored, with every digit of its numbers.
///
/// What its kind redacts (`#[job(redact(…))]`) is not shown, not even by `Debug` and `Display`. If
/// its shape does not match, more is hidden: a payload that is not an object, and a value on the
/// way to a redacted one that is not an object with the next key. For kinds that no worker has
/// announced, only keys are shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    json: String,
    hides: Hides,
}

impl Payload {
    pub(crate) fn new(json: String, hides: Hides) -> Self {
        Self { json, hides }
    }

    /// The placeholder for a payload that the server stores but cannot parse: it contains a NUL, an
    /// unpaired surrogate or a number out of range. Enqueues refuse such payloads; this one was not
    /// written by jobkit's functions, or by a release that did not check.
    pub(crate) fn unreadable() -> Self {
        Self { json: format!("\"{UNREADABLE}\""), hides: Hides::Paths(Vec::new()) }
    }

    /// Whether it is the stored payload: `false` for the placeholder of one that cannot be shown. A
    /// worker may still be able to read that.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.json.get(1..self.json.len() - 1) != Some(UNREADABLE)
    }

    /// The JSON with `"•••"` for each hidden value.
    #[must_use]
    pub fn redacted(&self) -> String {
        match &self.hides {
            Hides::Paths(paths) | Hides::Result(paths) if paths.is_empty() => self.json.clone(),
            hides => redacted(&self.json, hides),
        }
    }

    /// Whether something in it is hidden.
    #[must_use]
    pub fn is_redacted(&self) -> bool {
        self.redacted() != self.json
    }

    /// The JSON as it is stored, **including** what its kind redacts. Only for people who may see
    /// it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.json
    }
}

/// The text of [`Payload::redacted`].
impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted())
    }
}

/// The text of [`Payload::redacted`].
impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({})", self.redacted())
    }
}

/// This JSON without the hidden values. Text that is not JSON is hidden as a whole.
pub(crate) fn redacted(json: &str, hides: &Hides) -> String {
    let whole = || format!("\"{HIDDEN}\"");
    let paths = match hides {
        Hides::All => None,
        Hides::Paths(paths) | Hides::Result(paths) => {
            let mut hidden = paths.clone();
            hidden.extend(astray(json, paths).into_iter().map(|stray| stray.at));
            if matches!(hides, Hides::Paths(_)) && hidden.iter().any(String::is_empty) {
                return whole();
            }
            Some(hidden)
        }
    };
    let mut writer = Writer { rest: json, paths: paths.as_deref(), out: String::new() };
    let mut path = Vec::new();
    if writer.value(&mut path).is_none() || !writer.rest.trim_start().is_empty() {
        return whole();
    }
    writer.out
}

/// Copies JSON, token by token, so that numbers stay as they are written.
struct Writer<'a> {
    rest: &'a str,
    /// The paths at which values are hidden as a whole; `None` hides each value and keeps the
    /// shape.
    paths: Option<&'a [String]>,
    out: String,
}

impl<'a> Writer<'a> {
    /// Copies a value or its placeholder. `None` if it is not a value.
    fn value(&mut self, path: &mut Vec<String>) -> Option<()> {
        self.space();
        match self.rest.chars().next()? {
            '{' => self.list('}', path, |this, path| {
                this.space();
                let key = this.text()?;
                this.out.push_str(key);
                this.space();
                this.copy(':')?;
                path.push(serde_json::from_str(key).ok()?);
                let hidden = this.hides_whole(path);
                if hidden { this.skip(path) } else { this.value(path) }?;
                path.pop();
                Some(())
            }),
            '[' => self.list(']', path, Self::value),
            _ => {
                let scalar = self.scalar()?;
                match self.paths {
                    None => self.hide(),
                    Some(_) => self.out.push_str(scalar),
                }
                Some(())
            }
        }
    }

    fn hides_whole(&self, path: &[String]) -> bool {
        let mut paths = self.paths.into_iter().flatten();
        paths.any(|hidden| hidden.split('.').eq(path.iter()))
    }

    fn hide(&mut self) {
        self.out.extend(["\"", HIDDEN, "\""]);
    }

    /// Skips a hidden value.
    fn skip(&mut self, path: &mut Vec<String>) -> Option<()> {
        self.space();
        let shown = std::mem::take(&mut self.out);
        let paths = self.paths.take();
        let read = self.value(path);
        self.out = shown;
        self.paths = paths;
        self.hide();
        read
    }

    /// Copies the items between brackets.
    fn list(
        &mut self,
        end: char,
        path: &mut Vec<String>,
        item: impl Fn(&mut Self, &mut Vec<String>) -> Option<()>,
    ) -> Option<()> {
        let open = self.rest.chars().next()?;
        self.copy(open)?;
        self.space();
        if self.rest.starts_with(end) {
            return self.copy(end);
        }
        loop {
            item(self, path)?;
            self.space();
            if self.rest.starts_with(end) {
                return self.copy(end);
            }
            self.copy(',')?;
        }
    }

    fn space(&mut self) {
        let rest = self.rest.trim_start();
        self.out.push_str(&self.rest[..self.rest.len() - rest.len()]);
        self.rest = rest;
    }

    fn copy(&mut self, c: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(c)?;
        self.out.push(c);
        Some(())
    }

    fn scalar(&mut self) -> Option<&'a str> {
        if self.rest.starts_with('"') {
            return self.text();
        }
        let end = |c: char| c.is_whitespace() || ",]}:".contains(c);
        self.take(self.rest.find(end).unwrap_or(self.rest.len()))
    }

    /// A string, with its quotes.
    fn text(&mut self) -> Option<&'a str> {
        let inside = self.rest.strip_prefix('"')?;
        let mut escaped = false;
        let end = inside.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })?;
        self.take(end + 2)
    }

    fn take(&mut self, bytes: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        (!taken.is_empty()).then_some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(json: &str, paths: &[&str]) -> String {
        redacted(json, &Hides::Paths(paths.iter().map(ToString::to_string).collect()))
    }

    #[test]
    fn values_at_paths_are_hidden_and_all_else_is_as_it_was() {
        let json =
            r#"{"id": 9007199254740993, "card": {"number": "4", "cvc": 1.50}, "a": [1e400]}"#;
        assert_eq!(paths(json, &[]), json);
        assert_eq!(paths(json, &["number", "other.b"]), json);
        let hidden = json.replace(r#""4""#, r#""•••""#);
        assert_eq!(paths(json, &["card.number"]), hidden);
        let hidden = json.replace(r#"{"number": "4", "cvc": 1.50}"#, r#""•••""#);
        assert_eq!(paths(json, &["card"]), hidden.as_str());
        assert_eq!(paths(json, &["a"]), json.replace("[1e400]", r#""•••""#));
    }

    #[test]
    fn a_path_leads_through_arrays_and_escaped_keys() {
        let json = r#"{"t\u006fken": 1, "c": [{"n": 2, "m": 3}, [{"n": [4]}], {}]}"#;
        let hidden = r#"{"t\u006fken": "•••", "c": [{"n": "•••", "m": 3}, [{"n": "•••"}], {}]}"#;
        assert_eq!(paths(json, &["token", "c.n"]), hidden);
        let returned = |json: &str| redacted(json, &Hides::Result(vec!["a".to_owned()]));
        let hidden = r#"[{"a": "•••"}, {"a": "•••"}]"#;
        assert_eq!(returned(r#"[{"a": "}\\\"]"}, {"a": 2}]"#), hidden);
        assert_eq!(returned("7"), "7");
    }

    #[test]
    fn what_has_another_form_is_hidden_as_a_whole() {
        for json in [r#"["x", {"number": 1}]"#, r#""x""#, "7", r#"[{"card": {"number": 1}}]"#] {
            assert_eq!(paths(json, &["card.number"]), r#""•••""#, "{json}");
        }
        for card in [r#""x""#, "7", r#"{"numbr": "x"}"#, r#"[{"number": 1}, "x"]"#, r#"["x", 1]"#] {
            let json = format!(r#"{{"id": 1, "card": {card}, "note": "y"}}"#);
            let hidden = r#"{"id": 1, "card": "•••", "note": "y"}"#;
            assert_eq!(paths(&json, &["card.number"]), hidden);
        }
        for json in ["null", r#"{"card": null}"#, r#"{"card": {}}"#, r#"{"card": []}"#] {
            assert_eq!(paths(json, &["card.number"]), json);
        }
    }

    #[test]
    fn of_an_unknown_kind_only_keys_are_shown() {
        let json = r#"{"a": null, "b": [1, "x", {}], "c": {"d": true}}"#;
        let hidden = r#"{"a": "•••", "b": ["•••", "•••", {}], "c": {"d": "•••"}}"#;
        assert_eq!(redacted(json, &Hides::All), hidden);
        assert_eq!(redacted("7", &Hides::All), r#""•••""#);
        let payload = Payload::new(r#"{"a": 7}"#.to_owned(), Hides::All);
        assert_eq!(format!("{payload:?} {payload}"), r#"Payload({"a": "•••"}) {"a": "•••"}"#);
        assert_eq!(payload.reveal(), r#"{"a": 7}"#);
    }

    #[test]
    fn what_is_no_json_is_not_shown() {
        for json in ["", "{", r#"{"a"}"#, r#"{"a": }"#, "[1, ", "1 2", r#"{"a": "x}"#, r#"{1: 2}"#]
        {
            assert_eq!(paths(json, &["b"]), r#""•••""#, "{json}");
        }
    }
}
