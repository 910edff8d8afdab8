use std::fmt;
use std::str::FromStr;

use super::super::query::{JobQuery, Listing};
use super::super::summary::Ended;
use crate::{BatchId, JobId};

/// A mistake in the text of a search. The message names the word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    word: String,
    what: String,
}

impl QueryError {
    fn new(word: &str, what: impl Into<String>) -> Self {
        Self { word: word.to_owned(), what: what.into() }
    }

    /// The word that is wrong, as it was written.
    #[must_use]
    pub fn word(&self) -> &str {
        &self.word
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.word, self.what)
    }
}

impl std::error::Error for QueryError {}

/// A parser of such words.
struct Reader<'a> {
    rest: &'a str,
    /// The rest of the text, from the beginning of the current word.
    word: &'a str,
}

impl<'a> Reader<'a> {
    /// The word so far, or up to the next space.
    fn so_far(&self) -> &'a str {
        let read = self.word.len() - self.rest.len();
        let tail = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        &self.word[..read + tail]
    }

    fn error(&self, what: impl Into<String>) -> QueryError {
        QueryError::new(self.so_far(), what)
    }

    /// Goes to the next word; false when there is none.
    fn next_word(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        self.word = self.rest;
        !self.rest.is_empty()
    }

    /// Takes the text before the first of such characters, or the rest.
    fn until(&mut self, end: impl Fn(char) -> bool) -> &'a str {
        let at = self.rest.find(end).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(at);
        self.rest = rest;
        taken
    }

    fn take(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// The text after an opening quote, up to the closing one.
    fn quoted(&mut self) -> Result<String, QueryError> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => text.push(c),
                    Some((_, c)) => text.extend(['\\', c]),
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err(QueryError::new(self.word.trim_end(), "its quote is not closed"))
    }

    /// The value behind a colon.
    fn value(&mut self) -> Result<String, QueryError> {
        if self.take('"') {
            let text = self.quoted()?;
            if self.rest.starts_with(|c: char| !c.is_whitespace()) {
                return Err(self.error("a space has to follow the closing quote"));
            }
            return Ok(text);
        }
        let text = self.until(char::is_whitespace);
        if text.is_empty() {
            return Err(self.error("it has no value"));
        }
        Ok(text.to_owned())
    }

    /// The path behind `args.`, to the colon.
    fn path(&mut self) -> Result<String, QueryError> {
        let path = if self.take('"') {
            self.quoted()?
        } else {
            self.until(|c| c == ':' || c.is_whitespace()).to_owned()
        };
        if path.is_empty() {
            return Err(self.error("it has no path: write `args.account.id:7`"));
        }
        if self.take(':') { Ok(path) } else { Err(self.error("a `:` has to follow the path")) }
    }
}

impl FromStr for JobQuery {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        let mut query = Self::default();
        let mut reader = Reader { rest: text, word: text };
        let mut listed = false;
        while reader.next_word() {
            if let Some(rest) = reader.rest.strip_prefix("args.") {
                reader.rest = rest;
                let path = reader.path()?;
                let value = reader.value()?;
                if query.args.iter().any(|(known, _)| *known == path) {
                    return Err(reader.error("this path is given twice"));
                }
                query.args.push((path, value));
                continue;
            }
            let name = reader.until(|c| c == ':' || c == '"' || c.is_whitespace());
            if !reader.take(':') {
                query.bare(name, &reader)?;
                continue;
            }
            let before = reader.rest;
            let value = match reader.value() {
                Err(error) if known(name) => return Err(error),
                value => value.unwrap_or_else(|_| before.to_owned()),
            };
            if name == "state" && std::mem::replace(&mut listed, true) {
                return Err(reader.error("`state` is given twice"));
            }
            query.set(name, value, &reader)?;
        }
        if let Some(ended) = query.ended.filter(|_| !listed) {
            query.listing = ended.listing();
        }
        Ok(query)
    }
}

const NAMES: &str =
    "kind, queue, state, tag, group, key, error, ended, worker, batch, id and args.<path>";

fn known(name: &str) -> bool {
    NAMES.split([',', ' ']).any(|known| known == name)
}

impl JobQuery {
    /// A word without a colon: an id.
    fn bare(&mut self, word: &str, reader: &Reader<'_>) -> Result<(), QueryError> {
        if reader.rest.starts_with('"') || word.parse::<i64>().is_err() {
            let what = "it has no qualifier: write for example `kind:send_receipt`";
            return Err(reader.error(what));
        }
        self.set("id", word.to_owned(), reader)
    }

    fn set(&mut self, name: &str, value: String, reader: &Reader<'_>) -> Result<(), QueryError> {
        let place = match name {
            "kind" => &mut self.kind,
            "queue" => &mut self.queue,
            "tag" => &mut self.tag,
            "group" => &mut self.group,
            "key" => &mut self.key,
            "error" => &mut self.error,
            "state" => {
                self.listing = Listing::of(&value).ok_or_else(|| {
                    let names = Listing::ALL.map(Listing::as_str).join(", ");
                    reader.error(format!("there is no such state; the states are {names}"))
                })?;
                return Ok(());
            }
            "ended" => {
                let ended = Ended::of(&value).ok_or_else(|| {
                    let names = Ended::ALL.map(Ended::as_str).join(", ");
                    reader.error(format!("no job ends this way; the outcomes are {names}"))
                })?;
                return once(&mut self.ended, ended, name, reader);
            }
            "worker" => {
                let worker = u64::from_str_radix(&value, 16).map(u64::cast_signed);
                let worker = worker.map_err(|_| reader.error("a worker is a hexadecimal id"))?;
                return once(&mut self.worker, worker, name, reader);
            }
            "batch" => {
                let id = value.parse().map_err(|_| reader.error("a batch is a number"))?;
                return once(&mut self.batch, BatchId(id), name, reader);
            }
            "id" => {
                let id = value.parse().map_err(|_| reader.error("an id is a number"))?;
                return once(&mut self.id, JobId(id), name, reader);
            }
            _ => {
                let what = format!("there is no qualifier `{name}`; the qualifiers are {NAMES}");
                return Err(reader.error(what));
            }
        };
        once(place, value, name, reader)
    }
}

fn once<T>(
    place: &mut Option<T>,
    value: T,
    name: &str,
    reader: &Reader<'_>,
) -> Result<(), QueryError> {
    if place.replace(value).is_some() {
        return Err(reader.error(format!("`{name}` is given twice")));
    }
    Ok(())
}
