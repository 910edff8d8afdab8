use jobkit::{Job, JobContext, JobError, job};
use serde::{Deserialize, Serialize};

use crate::Shop;

/// Removes orders that were declined long ago.
///
/// Priority 3 is the last in its queue: it runs when nothing else there is ready. Nothing of it is
/// kept once it has ended.
#[derive(Debug, Serialize, Deserialize)]
#[job(queue = "bulk", priority = 3, max_attempts = 2, retention = none)]
pub struct CleanUp {
    /// How old, in days.
    pub days: i32,
}

impl Job<Shop> for CleanUp {
    async fn run(self, cx: JobContext<Shop>) -> jobkit::Result {
        // Small transactions: none holds locks or dead rows for long, and each is a checkpoint.
        let remove = "delete from orders where id in (
            select id from orders where declined_at < now() - make_interval(days => $1)
            limit 1000)";
        loop {
            let removed = sqlx::query(remove).bind(self.days).execute(&cx.state().pool).await?;
            if removed.rows_affected() < 1000 {
                return Ok(());
            }
            if cx.stop_reason().is_some() {
                return Err(JobError::release());
            }
        }
    }
}
