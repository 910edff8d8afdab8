use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;
use tracing::debug_span;

use super::queue::{Bound, PausedQueue};
use crate::store::{FromRow, One, ReadColumn, from_row, number, statements};
use crate::version::split;

statements! {
    /// The queues that workers name, that are paused or that have a bound; or these.
    fn known_queues(only: Option<&[String]>) -> Vec<KnownQueue>
        = include_str!("sql/queues_known.sql");

    /// The ready jobs of each queue.
    fn queues_ready() -> Vec<Held> = include_str!("sql/queues_ready.sql");

    /// The blocked jobs of each queue and kind.
    fn queues_blocked() -> Vec<Held> = include_str!("sql/queues_blocked.sql");

    /// The scheduled jobs of each queue and kind.
    fn queues_scheduled() -> Vec<Held> = include_str!("sql/queues_scheduled.sql");

    /// The running jobs of each queue and kind.
    fn queues_running() -> Vec<Run> = include_str!("sql/queues_running.sql");

    /// Pauses a queue: nobody claims from it. Whether it was not paused before.
    fn pause(queue: &str, actor: &str, reason: &str) -> One<bool>
        = "select jobkit.pause_limit('queue', $1, null, null, $2, $3)",
        debug_span!("jobkit.pause", queue);

    /// Resumes a queue. Whether it was paused.
    fn resume(queue: &str, actor: Option<&str>) -> One<bool> = "select jobkit.resume_limit('queue', $1, null, $2)",
        debug_span!("jobkit.resume", queue);

    /// Bounds how many jobs of a queue wait, or ends that. The bound before, or 0.
    fn bound(queue: &str, most: Option<i32>, actor: Option<&str>) -> One<i32>
        = "with before as materialized (
            select coalesce(l.waiting, l.code_waiting) as waiting from jobkit.limits l
            where l.scope = 'queue' and l.name = $1
        ) select coalesce((select b.waiting from before b), 0) from jobkit.set_limit(
            'queue', $1, null, jsonb_build_object('waiting', coalesce(to_jsonb($2::integer), '\"none\"')), $3)",
        debug_span!("jobkit.bound", queue, most);

    /// The paused queues, by name.
    fn paused_queues() -> Vec<PausedQueue>
        = "select l.name, l.paused_at, l.paused_by, l.pause_reason as reason from jobkit.limits l
            where l.scope = 'queue' and l.paused_at is not null order by l.name";
}

from_row! {
    PausedQueue { queue: "name", since: "paused_at", actor: "paused_by", reason }
}

/// A queue that workers serve, that is paused or that has a bound.
#[derive(Debug)]
pub(crate) struct KnownQueue {
    pub(crate) queue: String,
    pub(crate) workers: u32,
    pub(crate) capacity: u32,
    pub(crate) paused: Option<PausedQueue>,
    pub(crate) bound: Option<Bound>,
}

fn pause_of(row: &PgRow) -> sqlx::Result<Option<PausedQueue>> {
    let is_paused = row.read::<Option<DateTime<Utc>>>("paused_at")?.is_some();
    is_paused.then(|| PausedQueue::from_row(row)).transpose()
}

fn bound_of(row: &PgRow) -> sqlx::Result<Option<Bound>> {
    let Some(most) = row.read("bound")? else { return Ok(None) };
    let waiting = row.read::<Option<_>>("waiting")?.unwrap_or(0);
    Ok(Some(Bound { most, waiting, full_since: row.read("full_since")? }))
}

from_row! {
    KnownQueue { queue: "name", workers, capacity; paused: pause_of, bound: bound_of }
}

/// The jobs of a queue in one state, as far as counted.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) queue: String,
    /// By kind.
    pub(crate) kinds: Vec<(String, u32)>,
    /// Whether the queue may have more.
    pub(crate) more: bool,
    /// How long the oldest of them has been in that state.
    pub(crate) age: Option<Duration>,
    /// How many of them have used an attempt up.
    pub(crate) retrying: u32,
    /// When the next of them is due.
    pub(crate) next_run_at: Option<DateTime<Utc>>,
}

from_row! {
    Held { queue, more, age, retrying, next_run_at; kinds: kinds }
}

/// Running jobs of a queue and kind, by the state of their workers: `running` for live ones,
/// `stopping` or `gone`.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) hands: String,
    pub(crate) held: Held,
}

from_row! {
    Run { hands; held: Held::from_row }
}

fn kinds(row: &PgRow) -> sqlx::Result<Vec<(String, u32)>> {
    let kinds: Option<Vec<String>> = row.read("kinds")?;
    let numbers: Option<Vec<i64>> = row.read("numbers")?;
    let numbers = numbers.unwrap_or_default().into_iter().map(number);
    // Waiting jobs are named with their version.
    let kinds = kinds.unwrap_or_default().into_iter().map(|name| split(&name).0.to_owned());
    Ok(kinds.zip(numbers).collect())
}
