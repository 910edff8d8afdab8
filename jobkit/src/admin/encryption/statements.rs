//! What is asked about sealed payloads.

#[cfg(feature = "encrypt")]
use tracing::debug_span;

use crate::store::statements;
#[cfg(feature = "encrypt")]
use crate::store::{One, from_row};

statements! {
    /// The paths that a kind encrypts.
    fn encrypted_paths(kind: &str) -> Option<Vec<String>>
        = "select encrypt from jobkit.kinds where kind = $1";
}

#[cfg(feature = "encrypt")]
statements! {
    /// Live jobs after an id, at most this many.
    fn sealed_jobs(after: i64, kind: Option<&str>, limit: i64) -> Vec<Sealed>
        = include_str!("sql/jobs_sealed.sql");

    /// The same of dead letters.
    fn sealed_dead_letters(after: i64, kind: Option<&str>, limit: i64) -> Vec<Sealed>
        = include_str!("sql/dead_letters_sealed.sql");

    /// The same of schedules, after a name.
    fn sealed_schedules(after: &str, kind: Option<&str>, limit: i64) -> Vec<Sealed>
        = include_str!("sql/schedules_sealed.sql");

    /// Replaces payloads that have not changed meanwhile. Returns how many.
    fn reseal(
        place: &str,
        ids: &[&str],
        before: &[&str],
        after: &[&str],
        key: &str,
        actor: Option<&str>,
    ) -> One<u32>
        = "select jobkit.reseal($1, $2, $3, $4, $5, $6)", debug_span!("jobkit.reseal");
}

/// A row that was looked at, with its payload if something in that is sealed.
#[cfg(feature = "encrypt")]
#[derive(Debug)]
pub(crate) struct Sealed {
    /// Its id, or name.
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) args: Option<String>,
}

#[cfg(feature = "encrypt")]
from_row! {
    Sealed { id, kind, args }
}
