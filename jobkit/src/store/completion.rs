//! Success of a job in a transaction of its handler.

use sqlx::postgres::types::PgInterval;
use tracing::debug_span;

use super::call::statements;
use super::read::{FromRow, One, ReadColumn};
use crate::reach::Completion;

statements! {
    /// Moves a running job into claim `own`, if its claim `n` has others. Returns which of the two
    /// it is in; `None` if the worker no longer holds it.
    fn part(worker: i64, n: i64, own: i64, job: i64) -> One<Option<i64>>
        = "select jobkit.part($1, $2, $3, $4)",
        debug_span!("jobkit.part", worker, n, job);

    /// Ends a running job with success, in the transaction that sends this: `finish`, or why not.
    fn complete(
        worker: i64, n: i64, job: i64, keep: Option<PgInterval>, took: PgInterval,
        reason: Option<&str>, result: Option<&str>,
    ) -> One<String>
        = "select jobkit.complete($1, $2, $3, $4, $5, $6, $7)",
        debug_span!("jobkit.complete", worker, n, job);

    /// The state of a job whose handler completed it, or tried to, under one of these claims.
    fn completion(worker: i64, claims: &[i64], job: i64) -> One<Completion>
        = "select state, n from jobkit.completion($1, $2, $3)";
}

impl FromRow for Completion {
    fn from_row(row: &sqlx::postgres::PgRow) -> sqlx::Result<Self> {
        let (state, n): (String, Option<i64>) = (row.read("state")?, row.read("n")?);
        Ok(match (&*state, n) {
            ("held", Some(n)) => Self::Held(n),
            ("finish", n) => Self::Finished(n),
            ("lost", _) => Self::Lost,
            _ => Self::Open,
        })
    }
}
