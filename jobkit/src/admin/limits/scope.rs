use std::fmt;

use crate::error::InvalidValue;
use crate::limits::{self, KEY_BYTES, NAME_BYTES};

/// What a limit or a pause applies to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// All jobs. They can only be paused and resumed.
    All,
    /// The jobs of a queue.
    Queue(String),
    /// The jobs of a kind, in all versions and queues.
    Kind(String),
    /// The jobs of each key of a concurrency group, unless the key has a limit of its own.
    Group(String),
    /// Each key of a [limiter](crate::limiter), unless the key has a rate of its own.
    Limiter(String),
    /// One key of a concurrency group or of a limiter.
    Key {
        /// The group, or the limiter.
        group: String,
        /// The key.
        key: String,
    },
}

impl Scope {
    /// The names of all scopes, in the order in which [`Admin::limits`](crate::Admin::limits) lists
    /// them.
    pub const WORDS: [&'static str; 6] = ["all", "queue", "kind", "group", "limiter", "key"];

    /// The scope with this name, one of [`WORDS`](Self::WORDS). For a key, `name` is its group.
    #[must_use]
    pub fn of(word: &str, name: &str, key: Option<&str>) -> Option<Self> {
        let owned = || name.to_owned();
        match (word, key) {
            ("all", None) => Some(Self::All),
            ("queue", None) => Some(Self::Queue(owned())),
            ("kind", None) => Some(Self::Kind(owned())),
            ("group", None) => Some(Self::Group(owned())),
            ("limiter", None) => Some(Self::Limiter(owned())),
            ("key", Some(key)) => Some(Self::Key { group: owned(), key: key.to_owned() }),
            _ => None,
        }
    }

    /// Its name: one of [`WORDS`](Self::WORDS).
    #[must_use]
    pub fn word(&self) -> &'static str {
        Self::WORDS[self.rank()]
    }

    /// The name of the queue, the kind, the group or the limiter; that of a key's group; empty for
    /// everything.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::All => "",
            Self::Queue(name) | Self::Kind(name) | Self::Group(name) | Self::Limiter(name) => name,
            Self::Key { group, .. } => group,
        }
    }

    /// The key, if the scope is a single key.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Key { key, .. } => Some(key),
            _ => None,
        }
    }

    fn rank(&self) -> usize {
        match self {
            Self::All => 0,
            Self::Queue(_) => 1,
            Self::Kind(_) => 2,
            Self::Group(_) => 3,
            Self::Limiter(_) => 4,
            Self::Key { .. } => 5,
        }
    }

    /// Whether its jobs can be paused until somebody resumes them, and be waited for.
    pub(super) fn has_jobs(&self) -> bool {
        matches!(self, Self::All | Self::Queue(_) | Self::Kind(_))
    }

    /// Checks its names.
    pub(super) fn check(&self) -> Result<(), InvalidValue> {
        let what = match self {
            Self::All => return Ok(()),
            Self::Queue(_) => "queue",
            Self::Kind(_) => "kind",
            Self::Group(_) => "concurrency group",
            Self::Limiter(_) => "limiter",
            Self::Key { key, .. } => {
                limits::text("concurrency key", key, KEY_BYTES)?;
                "concurrency group"
            }
        };
        limits::name(what, self.name(), NAME_BYTES)
    }

    /// The error for something that this scope cannot have.
    pub(super) fn refuse(&self, what: &'static str) -> InvalidValue {
        InvalidValue::Limit { scope: self.word(), what }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => write!(f, "everything"),
            Self::Key { group, key } => write!(f, "key {group}/{key}"),
            scope => write!(f, "{} {}", scope.word(), scope.name()),
        }
    }
}
