use sqlx::postgres::PgRow;

use super::kind::KindSummary;
use crate::admin::measures::Measures;
use crate::store::{FromRow, ReadColumn, statements};

statements! {
    /// The kinds that workers have announced.
    fn kinds() -> Vec<KindSummary> = include_str!("sql/kinds_list.sql");
}

impl FromRow for KindSummary {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let (group, limit): (Option<_>, Option<_>) =
            (row.read("concurrency_group")?, row.read("concurrency_limit")?);
        let replay: Option<_> = row.read("auto_replay")?;
        Ok(Self {
            kind: row.read("kind")?,
            queue: row.read("queue")?,
            priority: row.read("priority")?,
            max_attempts: row.read("max_attempts")?,
            expires: row.read("expires")?,
            retry_for: row.read("retry_for")?,
            retention: row.read("retention")?,
            retention_discarded: row.read("retention_discarded")?,
            concurrency: group.map(|group| (group, limit.unwrap_or(1))),
            auto_replay: replay.zip(Some(row.read("max_cycles")?)),
            announced_at: row.read("announced_at")?,
            workers: row.read("workers")?,
            lately: Measures::default(),
        })
    }
}
