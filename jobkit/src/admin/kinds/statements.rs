use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::kind::KindSummary;
use crate::admin::measures::Measures;
use crate::store::{Call, Times, duration, number};

/// The kinds that workers have announced.
pub(crate) struct Kinds;

impl Call for Kinds {
    type Answer = Vec<KindSummary>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let query = sqlx::query(include_str!("sql/kinds_list.sql"));
        query.fetch_all(connection).await?.iter().map(kind).collect()
    }
}

fn kind(row: &PgRow) -> sqlx::Result<KindSummary> {
    let group: Option<String> = row.try_get("concurrency_group")?;
    let limit: Option<i32> = row.try_get("concurrency_limit")?;
    let replay: Option<i64> = row.try_get("auto_replay")?;
    let cycles = number(row.try_get::<i32, _>("max_cycles")?);
    Ok(KindSummary {
        kind: row.try_get("kind")?,
        queue: row.try_get("queue")?,
        priority: row.try_get("priority")?,
        max_attempts: number(row.try_get::<i16, _>("max_attempts")?),
        retention: row.try_get::<Option<i64>, _>("retention")?.map(duration),
        concurrency: group.map(|group| (group, limit.map_or(1, number))),
        auto_replay: replay.map(|wait| (duration(wait), cycles)),
        announced_at: row.time("announced_at")?,
        workers: number(row.try_get::<i64, _>("workers")?),
        lately: Measures::default(),
    })
}
