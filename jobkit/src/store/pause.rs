//! Requests of handlers: a slot of a limiter, or a pause of a key.

use std::time::Duration;

use sqlx::postgres::types::PgInterval;
use tracing::debug_span;

use super::call::statements;
use super::read::One;

statements! {
    /// Pauses a concurrency key for this long. Returns whether some worker has announced its group.
    fn pause_key(group: &str, key: &str, pause: PgInterval) -> One<bool>
        = "select jobkit.pause_key($1, $2, $3) is not null",
        debug_span!("jobkit.pause", group, key);

    /// Pauses the concurrency key of a job. Whether it has one.
    fn pause_key_of(job: i64, pause: PgInterval) -> One<bool>
        = "select jobkit.pause_key_of($1, $2)",
        debug_span!("jobkit.pause", job);

    /// A slot of a limiter for a job: how long until it comes, and whether it is the job's. A slot
    /// later than `most` is kept for it; without `most`, only a slot that is free now is taken.
    /// `None` if no worker has announced the limiter.
    fn take_slot(limiter: &str, key: &str, job: i64, most: Option<PgInterval>)
        -> Option<(Duration, bool)>
        = "select wait, taken from jobkit.take_slot($1, $2, $3, $4)",
        debug_span!("jobkit.take_slot", limiter, key, job);

    /// Whether the key of a limiter is paused.
    fn limiter_paused(limiter: &str, key: &str) -> One<bool>
        = "select exists (
            select from jobkit.semaphores s where s.concurrency_group = $1
                and s.concurrency_key = $2 and s.paused_until > clock_timestamp()
        )";
}
