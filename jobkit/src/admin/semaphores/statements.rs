use sqlx::postgres::PgRow;

use super::{BlockedJob, PermitHolder, Semaphore};
use crate::admin::limits::statements::rate;
use crate::store::{FromRow, One, ReadColumn, from_row, statements};

statements! {
    /// A page of the semaphores after a group and key that match; `None` is any.
    fn semaphores(after_group: &str, after_key: &str, limit: i64, group: Option<&str>,
            key: Option<&str>, at_limit: bool, blocked: bool) -> Vec<Semaphore>
        = include_str!("sql/semaphores_list.sql");

    /// The permit holders of a key, in the order in which they got their permits.
    fn permits_held(group: &str, key: &str) -> Vec<PermitHolder>
        = include_str!("sql/permits_held.sql");

    /// The jobs that get the next permits of a key.
    fn first_blocked(group: &str, key: &str) -> Vec<BlockedJob>
        = include_str!("sql/blocked_first.sql");

    /// How many keys are paused, and how many were looked at.
    fn keys_paused() -> One<(i64, i64)> = include_str!("sql/keys_paused.sql");
}

impl FromRow for Semaphore {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            group: row.read("concurrency_group")?,
            key: row.read("concurrency_key")?,
            limit: row.read("effective")?,
            override_limit: row.read("override_limit")?,
            rate: rate(row, "rate", "burst")?,
            has_own_rate: row.read("has_own_rate")?,
            paused_until: row.read("paused_until")?,
            next_at: row.read("next_at")?,
            taken: row.read("taken")?,
            blocked: row.read("blocked")?,
            blocked_since: row.read("oldest")?,
        })
    }
}

from_row! {
    PermitHolder { job: "job_id", worker: "worker_id", since }
    BlockedJob { job: "job_id", kind, queue, priority, since }
}
