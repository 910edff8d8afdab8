use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;

/// A job to be stored; everything in it has been checked.
#[derive(Debug)]
pub(crate) struct NewJob {
    pub(crate) kind: &'static str,
    /// Of the payload; `None` is 1.
    pub(crate) version: Option<i16>,
    pub(crate) queue: String,
    pub(crate) priority: i16,
    pub(crate) max_attempts: u16,
    pub(crate) after: Option<Duration>,
    pub(crate) at: Option<DateTime<Utc>>,
    pub(crate) group: Option<&'static str>,
    pub(crate) key: Option<String>,
    pub(crate) dead_letter_key: Option<String>,
    pub(crate) args: Box<RawValue>,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Option<Box<RawValue>>,
    pub(crate) unique: Option<UniqueKey>,
}

/// A unique key, and what goes with it; or the key of a job that coalesces.
#[derive(Debug)]
pub(crate) struct UniqueKey {
    /// The kind, or a group.
    pub(crate) scope: String,
    pub(crate) key: String,
    pub(crate) holds: &'static str,
    pub(crate) at_least: Option<Duration>,
    /// `None` for a job that coalesces.
    pub(crate) on_duplicate: Option<&'static str>,
}

impl NewJob {
    /// The metadata, with the size of the payload: both share a limit.
    pub(crate) fn metadata(&mut self) -> (usize, &mut Option<Box<RawValue>>) {
        (self.args.get().len(), &mut self.metadata)
    }

    /// Whether it only has to be inserted: it is due at once, and no other job can be in its way.
    pub(super) fn is_plain(&self) -> bool {
        self.after.is_none() && self.at.is_none() && self.unique.is_none()
    }

    /// Size of the payload and the metadata.
    pub(crate) fn bytes(&self) -> usize {
        self.args.get().len() + self.metadata.as_ref().map_or(0, |json| json.get().len())
    }
}
