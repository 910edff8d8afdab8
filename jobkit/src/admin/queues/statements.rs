use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;

use super::queue::Waiting;
use crate::admin::limits::Pause;
use crate::store::{ReadColumn, from_row, number, statements};
use crate::version::split;

statements! {
    /// The queues that workers name, that are paused or limit how many jobs wait; or these.
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
}

/// A queue that workers serve, that is paused or that limits how many jobs wait.
#[derive(Debug)]
pub(crate) struct KnownQueue {
    pub(crate) queue: String,
    pub(crate) workers: u32,
    pub(crate) capacity: u32,
    pub(crate) paused: Option<Pause>,
    pub(crate) waiting: Option<Waiting>,
}

fn pause_of(row: &PgRow) -> sqlx::Result<Option<Pause>> {
    let Some(since) = row.read("paused_at")? else { return Ok(None) };
    let (actor, reason) = (row.read("paused_by")?, row.read("reason")?);
    Ok(Some(Pause { since, until: None, actor, reason }))
}

fn waiting_of(row: &PgRow) -> sqlx::Result<Option<Waiting>> {
    let Some(most) = row.read("most_waiting")? else { return Ok(None) };
    let counted = row.read::<Option<_>>("waiting")?.unwrap_or(0);
    Ok(Some(Waiting { most, counted, full_since: row.read("full_since")? }))
}

from_row! {
    KnownQueue { queue: "name", workers, capacity; paused: pause_of, waiting: waiting_of }
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
