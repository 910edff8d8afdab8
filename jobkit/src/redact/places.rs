//! Where in a payload hidden values are.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The shortest text that is removed from others: a shorter one may occur by chance.
const SHORTEST: usize = 4;

/// An object's keys and values, in order and as they are written, including duplicate keys.
pub(crate) struct Entries<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Entries<'de>, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// A value of JSON.
enum Node<'a> {
    Null,
    Object(Vec<(String, &'a RawValue)>),
    List(Vec<&'a RawValue>),
    Text(String),
    /// A number, `true` or `false`.
    Word(&'a str),
}

fn node(json: &str) -> serde_json::Result<Node<'_>> {
    let json = json.trim();
    Ok(match json.as_bytes().first() {
        Some(b'{') => Node::Object(serde_json::from_str::<Entries<'_>>(json)?.0),
        Some(b'[') => Node::List(serde_json::from_str(json)?),
        Some(b'"') => Node::Text(serde_json::from_str(json)?),
        _ if json == "null" => Node::Null,
        _ => Node::Word(serde_json::from_str::<&RawValue>(json)?.get()),
    })
}

/// A value on the way to a path that does not fit it: neither null, nor an object with the next
/// key, nor, below the root, a list of such. So it is unknown what in it must be hidden.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stray {
    /// The keys to it, with dots between; nothing for the whole payload.
    pub(crate) at: String,
    /// The path.
    pub(crate) path: String,
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, path } = self;
        match &**at {
            "" => write!(f, "`{path}` leads nowhere, since the payload is not an object"),
            at => write!(
                f,
                "`{path}` leads nowhere, although `{at}` has a value: write the key as it is in \
                 the JSON (`{at}.\"Its-Key\"`), have null there, or name `{at}` as a whole"
            ),
        }
    }
}

/// What a walk along paths meets.
enum Met<'a> {
    /// The value at the end of one.
    End(&'a str),
    Stray(&'a str, Stray),
}

struct Walk<'w, 'a> {
    at: Vec<&'w str>,
    met: Vec<Met<'a>>,
}

impl<'w, 'a> Walk<'w, 'a> {
    /// Continues along the rest of these paths.
    fn value(&mut self, json: &'a str, paths: &[&'w [&'w str]]) -> serde_json::Result<()> {
        let Some([next, ..]) = paths.iter().min_by_key(|path| path.len()) else {
            if !paths.is_empty() {
                self.met.push(Met::End(json));
            }
            return Ok(());
        };
        match node(json)? {
            Node::Null => {}
            Node::Object(entries) if is_sealed(&entries) && !self.at.is_empty() => {}
            Node::Object(entries) => {
                let mut missing: Vec<&&[&str]> = paths.iter().collect();
                for (key, value) in &entries {
                    missing.retain(|path| path[0] != key);
                    let behind: Vec<&[&str]> =
                        paths.iter().filter(|path| path[0] == key).map(|path| &path[1..]).collect();
                    let Some(name) = paths.iter().map(|path| path[0]).find(|name| name == key)
                    else {
                        continue;
                    };
                    self.at.push(name);
                    self.value(value.get(), &behind)?;
                    self.at.pop();
                }
                if let Some([next, ..]) = missing.first()
                    && !self.at.is_empty()
                    && !entries.is_empty()
                {
                    self.stray(json, next);
                }
            }
            Node::List(items) if !self.at.is_empty() => {
                for item in items {
                    self.value(item.get(), paths)?;
                }
            }
            Node::List(_) | Node::Text(_) | Node::Word(_) => self.stray(json, next),
        }
        Ok(())
    }

    fn stray(&mut self, json: &'a str, next: &str) {
        let at = self.at.join(".");
        let path = if at.is_empty() { next.to_owned() } else { format!("{at}.{next}") };
        self.met.push(Met::Stray(json, Stray { at, path }));
    }
}

/// Whether this is a sealed value.
fn is_sealed(entries: &[(String, &RawValue)]) -> bool {
    matches!(entries, [(key, _)] if key == "jobkit:sealed")
}

/// Everything that a walk along these paths meets; if it is not JSON, the whole is stray.
fn walk<'a>(json: &'a str, paths: &[impl AsRef<str>]) -> Vec<Met<'a>> {
    let names: Vec<Vec<&str>> =
        paths.iter().map(|path| path.as_ref().split('.').collect()).collect();
    let names: Vec<&[&str]> = names.iter().map(Vec::as_slice).collect();
    let mut walk = Walk { at: Vec::new(), met: Vec::new() };
    match walk.value(json, &names) {
        Ok(()) => walk.met,
        Err(_) => {
            let path = paths.first().map_or("", |path| path.as_ref()).to_owned();
            vec![Met::Stray(json, Stray { at: String::new(), path })]
        }
    }
}

/// The values that do not fit these paths. Text that is not JSON is one as a whole.
pub(crate) fn astray(json: &str, paths: &[impl AsRef<str>]) -> Vec<Stray> {
    let strays = walk(json, paths).into_iter().filter_map(|met| match met {
        Met::Stray(_, stray) => Some(stray),
        Met::End(_) => None,
    });
    strays.collect()
}

/// The texts of the values at those paths, and of stray values, the longest first; without those so
/// short that they may occur by chance.
pub(crate) fn hidden_texts(json: &str, paths: &[&str]) -> Vec<String> {
    let mut texts = Vec::new();
    for met in walk(json, paths) {
        let (Met::End(value) | Met::Stray(value, _)) = met;
        // Text that is not JSON has no values: no handler gets any of it.
        let _read = collect(value, &mut texts);
    }
    texts.retain(|text| text.len() >= SHORTEST);
    texts.sort_by(|a, b| (b.len(), b).cmp(&(a.len(), a)));
    texts.dedup();
    texts
}

fn collect(json: &str, texts: &mut Vec<String>) -> serde_json::Result<()> {
    match node(json)? {
        Node::Null => {}
        Node::Object(entries) => {
            entries.into_iter().try_for_each(|(_, value)| collect(value.get(), texts))?;
        }
        Node::List(items) => items.into_iter().try_for_each(|item| collect(item.get(), texts))?,
        Node::Text(text) => texts.push(text),
        Node::Word("true" | "false") => {}
        Node::Word(number) => {
            texts.push(number.to_owned());
            // As Rust writes it.
            texts.extend(number.parse::<f64>().map(|number| number.to_string()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strays(json: &str, paths: &[&str]) -> Vec<String> {
        let strays = astray(json, paths).into_iter();
        strays.map(|Stray { at, path }| format!("{at} to {path}")).collect()
    }

    #[test]
    fn a_way_is_objects_and_lists_of_them() {
        let paths = ["token", "card.number", "card.cvc"];
        for json in [
            r#"{"token": [7, "x"], "card": {"number": {}, "cvc": null}, "other": "x"}"#,
            r#"{"card": [[{"cvc": 1, "number": 2}], null, {}, []]}"#,
            r#"{"card": {"jobkit:sealed": "k.x"}}"#,
            r#"{"token": null, "card": null}"#,
            "{}",
            "null",
        ] {
            assert_eq!(strays(json, &paths), [""; 0], "{json}");
        }
        for (json, stray) in [
            (r#"["x", {"number": 1}]"#, " to token"),
            (r#"[{"token": 1}]"#, " to token"),
            (r#""x""#, " to token"),
            ("7", " to token"),
            ("{", " to token"),
            (r#"{"card": "x"}"#, "card to card.number"),
            (r#"{"card": {"numbr": 1, "cvc": 2}}"#, "card to card.number"),
            (r#"{"card": [{"number": 1, "cvc": 2}, 7]}"#, "card to card.number"),
            (r#"{"card": null, "card": 7}"#, "card to card.number"),
            (r#"{"c\u0061rd": true}"#, "card to card.number"),
        ] {
            assert_eq!(strays(json, &paths), [stray], "{json}");
        }
        assert_eq!(strays("[]", &[]), [""; 0]);
    }

    #[test]
    fn texts_are_those_of_what_is_hidden_and_of_what_strays() {
        let texts = |json: &str, paths: &[&str]| hidden_texts(json, paths).join(" ");
        let json =
            r#"{"a": {"b": ["first", 1.50, "1"], "c": "shown"}, "d": "other", "d": "twice"}"#;
        assert_eq!(texts(json, &["a.b", "d"]), "twice other first 1.50");
        assert_eq!(texts(r#"["first", {"a": 12345}]"#, &["a.b"]), "first 12345");
        assert_eq!(texts(r#"{"a": "first", "e": "shown"}"#, &["a.b"]), "first");
        assert_eq!(texts("{", &["a.b"]), "");
    }
}
