//! What a handler asks for: that nothing of a concurrency key begins for a while.

use sqlx::postgres::types::PgInterval;
use tracing::debug_span;

use super::call::statements;
use super::read::One;

statements! {
    /// Pauses a concurrency key for so long. Whether some worker has announced its group.
    fn pause_key(group: &str, key: &str, pause: PgInterval) -> One<bool>
        = "select jobkit.pause_key($1, $2, $3)",
        debug_span!("jobkit.pause", group, key);

    /// Pauses the concurrency key of a job. Whether it has one.
    fn pause_key_of(job: i64, pause: PgInterval) -> One<bool>
        = "select jobkit.pause_key_of($1, $2)",
        debug_span!("jobkit.pause", job);
}
