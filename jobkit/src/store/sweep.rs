use std::time::Duration;

use sqlx::PgConnection;
use tracing::Span;

use super::worker::interval;
use super::{Call, Link};
use crate::Error;

/// Waits for everybody who may have decided without having seen a worker that just registered, for
/// so long at most.
pub(crate) struct SweepStart {
    pub(crate) patience: Duration,
}

impl Call for SweepStart {
    type Answer = ();

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        sqlx::query(include_str!("sql/sweep_start.sql"))
            .bind(i32::try_from(self.patience.as_millis()).unwrap_or(i32::MAX))
            .execute(connection)
            .await
            .map(drop)
    }
}

/// Asks whether the next periodic sweep is due.
pub(crate) struct SweepBegin(pub(crate) Duration);

impl Call for SweepBegin {
    /// Whether it is, and whether something explains what it may find.
    type Answer = (bool, bool);

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/sweep_begin.sql"))
            .bind(interval(self.0))
            .fetch_one(connection)
            .await
    }
}

/// Fills one page of the keys with blocked jobs, those after a key.
pub(crate) struct SweepKeys<'a> {
    /// Group and key.
    pub(crate) after: (&'a str, &'a str),
    pub(crate) limit: i32,
}

/// What a page of a sweep found.
#[derive(Debug)]
pub(crate) struct SweptPage {
    /// Jobs that became ready.
    pub(crate) unblocked: i32,
    /// The key the next page begins after.
    pub(crate) last: Option<(String, String)>,
}

impl Call for SweepKeys<'_> {
    type Answer = SweptPage;

    fn span(&self) -> Span {
        tracing::trace_span!("jobkit.sweep")
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<SweptPage> {
        type Row = (i32, Option<String>, Option<String>);
        let (unblocked, group, key): Row = sqlx::query_as(include_str!("sql/sweep_keys.sql"))
            .bind(self.after.0)
            .bind(self.after.1)
            .bind(self.limit)
            .fetch_one(connection)
            .await?;
        Ok(SweptPage { unblocked, last: group.zip(key) })
    }
}

/// Takes permits back from ready jobs that nobody serves.
pub(crate) struct SweepUnserved(pub(crate) i32);

impl Call for SweepUnserved {
    /// How many such jobs there were.
    type Answer = i32;

    fn span(&self) -> Span {
        tracing::trace_span!("jobkit.sweep")
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<i32> {
        sqlx::query_scalar(include_str!("sql/sweep_unserved.sql"))
            .bind(self.0)
            .fetch_one(connection)
            .await
    }
}

/// Ends waiting jobs whose cancel was cut short.
pub(crate) struct SweepCancelled(pub(crate) i32);

impl Call for SweepCancelled {
    /// How many ended.
    type Answer = i32;

    fn span(&self) -> Span {
        tracing::trace_span!("jobkit.sweep")
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<i32> {
        sqlx::query_scalar(include_str!("sql/sweep_cancelled.sql"))
            .bind(self.0)
            .fetch_one(connection)
            .await
    }
}

/// Adds to the count of what nothing explained.
pub(crate) struct SweepNote(pub(crate) i32);

impl Call for SweepNote {
    type Answer = ();

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        sqlx::query(include_str!("sql/sweep_note.sql"))
            .bind(self.0)
            .execute(connection)
            .await
            .map(drop)
    }
}

/// Keys looked at by one call.
const PAGE: i32 = 500;

/// A page that unblocked so many may have more to give: a key gives 1,000 permits at a time.
const AGAIN: i32 = 1000;

/// Fills every key with free permits and blocked jobs, page by page; returns how many jobs became
/// ready.
pub(crate) async fn sweep_all(link: &mut Link) -> Result<i32, Error> {
    let mut unblocked = 0;
    let mut after = (String::new(), String::new());
    loop {
        let page = SweepKeys { after: (&after.0, &after.1), limit: PAGE };
        let swept = link.call(&page).await?;
        unblocked += swept.unblocked;
        if swept.unblocked >= AGAIN {
            continue;
        }
        match swept.last {
            Some(last) => after = last,
            None => return Ok(unblocked),
        }
    }
}
