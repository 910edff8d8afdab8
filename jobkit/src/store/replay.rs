use std::fmt;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use sqlx::postgres::PgArguments;
use sqlx::query::QueryAs;
use sqlx::types::Json;
use sqlx::{PgConnection, Postgres};
use tracing::Span;

use super::Call;
use super::dead_letters::{Meant, cursor};
use super::time::Time;
use super::worker::interval;
use crate::dead_letter::DeadLetterCursor;

/// What a replay does otherwise than what is stored; `None` is as stored.
#[derive(Clone, Default)]
pub(crate) struct Otherwise {
    pub(crate) queue: Option<String>,
    pub(crate) run_at: Option<DateTime<Utc>>,
    pub(crate) args: Option<Value>,
    pub(crate) max_attempts: Option<u16>,
    /// Group and key that belong to the payload, both or neither.
    pub(crate) concurrency: Option<[Option<String>; 2]>,
}

/// Without the payload, which may have what must not be shown.
impl fmt::Debug for Otherwise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queue, run_at, max_attempts, .. } = self;
        let mut shown = f.debug_struct("Otherwise");
        shown.field("queue", queue).field("run_at", run_at).field("max_attempts", max_attempts);
        shown.finish_non_exhaustive()
    }
}

/// Replays a dead letter.
pub(crate) struct ReplayDeadLetter<'a> {
    pub(crate) id: i64,
    pub(crate) actor: Option<&'a str>,
    pub(crate) otherwise: &'a Otherwise,
}

impl Call for ReplayDeadLetter<'_> {
    /// `replay`, `already`, `resolved` or `missing`; and the job.
    type Answer = (String, Option<i64>);

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.replay", dead_letter = self.id)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let Otherwise { queue, run_at, args, max_attempts, concurrency } = self.otherwise;
        sqlx::query_as(include_str!("sql/dead_letters_replay.sql"))
            .bind(self.id)
            .bind(self.actor)
            .bind(queue.as_deref())
            .bind(*run_at)
            .bind(args.as_ref().map(Json))
            .bind(max_attempts.map(i32::from))
            .bind(concurrency.as_ref().map(<[_; 2]>::as_slice))
            .fetch_one(connection)
            .await
    }
}

/// Which page of the dead letters, of those that failed by some time, the oldest failure first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch<'a> {
    pub(crate) meant: &'a Meant,
    pub(crate) until: DateTime<Utc>,
    pub(crate) after: Option<DeadLetterCursor>,
    pub(crate) limit: i32,
    pub(crate) actor: Option<&'a str>,
}

impl Stretch<'_> {
    /// The place before it. At its beginning: after all that failed when the filter's time begins.
    fn place(&self) -> (Option<DateTime<Utc>>, i64) {
        match (self.after, self.meant.failed_after) {
            (Some(cursor), _) => (Some(cursor.failed_at), cursor.id.0),
            (None, begin) => (begin, i64::MAX),
        }
    }

    /// A statement with this as $1 to $9.
    fn bound(&self, sql: &'static str) -> QueryAs<'_, Postgres, PageRow, PgArguments> {
        let (at, id) = self.place();
        sqlx::query_as(sql)
            .bind(self.meant.kind.as_deref())
            .bind(self.meant.queue.as_deref())
            .bind(self.meant.key.as_deref())
            .bind(self.meant.fingerprint.as_deref())
            .bind(self.until)
            .bind(at)
            .bind(id)
            .bind(self.limit)
            .bind(self.actor)
    }
}

/// How many, how many skipped, and where the next page begins.
type PageRow = (i32, i32, Option<Time>, Option<i64>);

/// What was done with a page.
#[derive(Debug)]
pub(crate) struct PageDone {
    pub(crate) done: u64,
    pub(crate) skipped: u64,
    pub(crate) next: Option<DeadLetterCursor>,
}

impl PageDone {
    fn of((done, skipped, at, id): PageRow) -> Self {
        let number = |number: i32| u64::try_from(number).unwrap_or(0);
        Self {
            done: number(done),
            skipped: number(skipped),
            next: cursor(at.map(|Time(at)| at), id),
        }
    }
}

/// Replays a page.
pub(crate) struct ReplayPage<'a>(pub(crate) Stretch<'a>);

impl Call for ReplayPage<'_> {
    type Answer = PageDone;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.replay", limit = self.0.limit)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<PageDone> {
        self.0
            .bound(include_str!("sql/dead_letters_replay_page.sql"))
            .fetch_one(connection)
            .await
            .map(PageDone::of)
    }
}

/// Removes a dead letter.
pub(crate) struct DiscardDeadLetter<'a> {
    pub(crate) id: i64,
    pub(crate) actor: Option<&'a str>,
}

impl Call for DiscardDeadLetter<'_> {
    /// `discard`, `replaying` or `missing`.
    type Answer = String;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.discard", dead_letter = self.id)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<String> {
        sqlx::query_scalar(include_str!("sql/dead_letters_discard.sql"))
            .bind(self.id)
            .bind(self.actor)
            .fetch_one(connection)
            .await
    }
}

/// Removes a page.
pub(crate) struct DiscardPage<'a> {
    pub(crate) stretch: Stretch<'a>,
    /// `discard` or `purge`.
    pub(crate) action: &'static str,
}

impl Call for DiscardPage<'_> {
    type Answer = PageDone;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.discard", limit = self.stretch.limit)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<PageDone> {
        self.stretch
            .bound(include_str!("sql/dead_letters_discard_page.sql"))
            .bind(self.stretch.meant.state.as_str())
            .bind(self.action)
            .fetch_one(connection)
            .await
            .map(PageDone::of)
    }
}

/// The latest failure that a call over all dead letters means.
pub(crate) struct Until {
    /// How long ago by the server's clock.
    pub(crate) ago: Duration,
    /// Earlier than this.
    pub(crate) before: Option<DateTime<Utc>>,
}

impl Call for Until {
    type Answer = DateTime<Utc>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<DateTime<Utc>> {
        // A thousand years: the server's time begins in 4713 BC.
        const LONGEST: Duration = Duration::from_secs(1000 * 365 * 24 * 60 * 60);
        let last = self.before.map(|before| before - TimeDelta::microseconds(1));
        sqlx::query_scalar(include_str!("sql/dead_letters_until.sql"))
            .bind(interval(self.ago.min(LONGEST)))
            .bind(last)
            .fetch_one(connection)
            .await
            .map(|Time(until)| until)
    }
}
