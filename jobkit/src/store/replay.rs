use std::fmt;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Json;
use tracing::Span;

use super::Call;
use super::time::Time;
use super::worker::interval;

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
