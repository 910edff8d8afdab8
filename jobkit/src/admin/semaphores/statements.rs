use tracing::debug_span;

use super::{BlockedJob, ConcurrencyGroup, PermitHolder, Semaphore};
use crate::store::{One, from_row, statements};

statements! {
    /// A page of the semaphores after a group and key that match; `None` is any.
    fn semaphores(after_group: &str, after_key: &str, limit: i64, group: Option<&str>,
            key: Option<&str>, at_limit: bool, blocked: bool) -> Vec<Semaphore>
        = include_str!("sql/semaphores_list.sql");

    /// Who holds the permits of a key, in the order in which they got them.
    fn permits_held(group: &str, key: &str) -> Vec<PermitHolder>
        = include_str!("sql/permits_held.sql");

    /// Who gets the next permits of a key.
    fn first_blocked(group: &str, key: &str) -> Vec<BlockedJob>
        = include_str!("sql/blocked_first.sql");

    /// The concurrency groups that some worker has announced, by name.
    fn groups() -> Vec<ConcurrencyGroup>
        = "select g.name, g.default_limit, g.override_limit from jobkit.concurrency_groups g
            order by g.name";

    /// Sets or clears an operator's limit for a group. Whether some worker has announced it.
    fn limit_group(group: &str, limit: Option<i32>, actor: Option<&str>) -> One<bool>
        = "select jobkit.limit_group($1, $2, $3)",
        debug_span!("jobkit.limit", group, limit);

    /// Sets or clears an operator's limit for a key. Whether some worker has announced its group.
    fn limit_key(group: &str, key: &str, limit: Option<i32>, actor: Option<&str>) -> One<bool>
        = "select jobkit.limit_key($1, $2, $3, $4)",
        debug_span!("jobkit.limit", group, key, limit);
}

from_row! {
    Semaphore { group: "concurrency_group", key: "concurrency_key", limit: "effective",
        override_limit, taken, blocked, blocked_since: "oldest" }
    PermitHolder { job: "job_id", worker: "worker_id", since }
    BlockedJob { job: "job_id", kind, queue, priority, since }
    ConcurrencyGroup { name, default_limit, override_limit }
}
