use sqlx::postgres::PgRow;
use sqlx::postgres::types::PgInterval;
use sqlx::{PgConnection, Row};

use super::Call;
use super::maintain::wait;
use crate::JobId;
use crate::query::{JobQuery, Listing};
use crate::summary::{Ended, JobSummary, State};

/// Plans by indexes alone in this session, whatever the statistics say.
pub(crate) struct ByIndex;

impl Call for ByIndex {
    type Answer = ();

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        sqlx::query(include_str!("sql/session_by_index.sql")).execute(connection).await.map(drop)
    }
}

/// A page of a listing.
pub(crate) struct JobsList<'a> {
    pub(crate) listing: Listing,
    pub(crate) query: &'a JobQuery,
    /// The place before it, as a JSON array.
    pub(crate) place: Option<&'a str>,
    /// How many jobs are looked at.
    pub(crate) window: i32,
    pub(crate) rows: i32,
}

/// What such a page has.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) jobs: Vec<JobSummary>,
    /// Of those looked at.
    pub(crate) meant: i64,
    pub(crate) looked_at: i64,
    /// The place of the last of its jobs, when it is full.
    pub(crate) page_end: Option<String>,
    /// The place of the last job looked at, when there may be more.
    pub(crate) search_end: Option<String>,
}

impl Call for JobsList<'_> {
    type Answer = Listed;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Listed> {
        let query = self.query;
        let sql = match self.listing {
            Listing::Finished | Listing::Discarded | Listing::Cancelled => {
                include_str!("sql/jobs_list_ended.sql")
            }
            _ => include_str!("sql/jobs_list.sql"),
        };
        let (paths, values): (Vec<_>, Vec<_>) =
            query.args.iter().map(|(path, value)| (path.as_str(), value.as_str())).unzip();
        let rows = sqlx::query(sql)
            .bind(self.listing.as_str())
            .bind(self.place)
            .bind(self.window)
            .bind(self.rows)
            .bind(query.kind.as_deref())
            .bind(query.queue.as_deref())
            .bind(query.tag.as_deref())
            .bind(query.group.as_deref())
            .bind(query.key.as_deref())
            .bind(query.error.as_deref())
            .bind(query.worker)
            .bind(query.id.map(|id| id.0))
            .bind(paths)
            .bind(values)
            .bind(query.reveal)
            .fetch_all(connection)
            .await?;
        let mut listed = Listed::default();
        for row in &rows {
            listed.meant = row.try_get("meant")?;
            listed.looked_at = row.try_get("looked_at")?;
            listed.page_end = row.try_get("page_end")?;
            listed.search_end = row.try_get("search_end")?;
            if row.try_get::<Option<i64>, _>("id")?.is_some() {
                listed.jobs.push(summary(row)?);
            }
        }
        Ok(listed)
    }
}

/// The job, when it is the last of a dead letter.
pub(crate) struct DeadJob(pub(crate) i64);

impl Call for DeadJob {
    type Answer = Option<JobSummary>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let query = sqlx::query(include_str!("sql/jobs_dead.sql")).bind(self.0);
        query.fetch_optional(connection).await?.as_ref().map(summary).transpose()
    }
}

fn summary(row: &PgRow) -> sqlx::Result<JobSummary> {
    let group: Option<String> = row.try_get("concurrency_group")?;
    let tags: Option<Vec<String>> = row.try_get("tags")?;
    Ok(JobSummary {
        id: JobId(row.try_get("id")?),
        state: State::of(row.try_get("state")?),
        ended: row.try_get::<Option<&str>, _>("outcome")?.map(Ended::of),
        kind: row.try_get("kind")?,
        queue: row.try_get("queue")?,
        priority: row.try_get("priority")?,
        attempt: row.try_get::<i32, _>("attempt")?.try_into().unwrap_or(0),
        max_attempts: row.try_get::<i16, _>("max_attempts")?.try_into().unwrap_or(0),
        worker: row.try_get("worker_id")?,
        cancel_requested: row.try_get("cancel_requested")?,
        run_at: row.try_get("run_at")?,
        created_at: row.try_get("created_at")?,
        since: row.try_get("since")?,
        took: row.try_get::<Option<PgInterval>, _>("took")?.map(wait),
        concurrency: group.zip(row.try_get("concurrency_key")?),
        tags: tags.unwrap_or_default(),
        error: row.try_get("error")?,
    })
}
