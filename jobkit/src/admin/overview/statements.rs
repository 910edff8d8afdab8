use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;
use sqlx::postgres::types::PgInterval;
use tracing::debug_span;

use super::acknowledged::Acknowledgement;
use super::attention::{Attention, Hold};
use super::long::Run;
use crate::admin::Count;
use crate::admin::count::count;
use crate::admin::limits::statements::rate;
use crate::admin::measures::Measures;
use crate::store::{Answer, One, ReadColumn, from_row, statements};
use crate::version::split;

statements! {
    /// The numbers of waiting, running and dead jobs.
    fn overview_counts() -> One<OverviewRow> = include_str!("sql/overview_counts.sql");

    /// Queues in which a job has been ready for longer than this.
    fn late_queues(late: PgInterval) -> LateQueues = include_str!("sql/overview_ready.sql");

    /// Keys whose jobs have waited for longer than this, or whose pause has that long left.
    fn held_keys(late: PgInterval) -> HeldKeys = include_str!("sql/overview_blocked.sql");

    /// Jobs that have run for longer than this.
    fn long_runs(floor: PgInterval) -> Vec<Run> = include_str!("sql/overview_long.sql");

    /// The measures of these kinds within a week.
    fn usual(kinds: &[String]) -> HashMap<String, Measures>
        = include_str!("sql/overview_usual.sql");

    /// Sessions whose commits wait for a synchronous standby.
    fn standby_awaited() -> Option<StandbyAwaited> = include_str!("sql/overview_standby.sql");

    /// The acknowledgements of the last 30 days, the latest 1,000.
    fn acknowledged() -> Vec<Acknowledgement>
        = "select a.what, a.subject, a.up_to, a.actor, a.reason, a.at from jobkit.acknowledged a
            where a.at > now() - interval '30 d' and a.up_to <= clock_timestamp()
            order by a.at desc limit 1000";

    /// Acknowledges what began before this time.
    fn acknowledge(what: &str, subject: &str, seen: Option<DateTime<Utc>>, reason: Option<&str>,
            actor: Option<&str>) -> ()
        = "select jobkit.acknowledge($1, $2, coalesce($3, clock_timestamp()), $4, $5)",
        debug_span!("jobkit.acknowledge", what, subject);

    /// Takes an acknowledgement back. Whether it was acknowledged.
    fn unacknowledge(what: &str, subject: &str, actor: Option<&str>) -> One<bool>
        = "select jobkit.unacknowledge($1, $2, $3)",
        debug_span!("jobkit.unacknowledge", what, subject);

    /// The oldest open operation: its id, its verb, and how long ago it made progress.
    fn oldest_operation() -> Option<(i64, String, Duration)>
        = include_str!("sql/overview_operation.sql");

    /// Workers that were lost within the last hour, by name, except those whose name has been back
    /// for longer than this.
    fn lost_workers(late: PgInterval) -> LostWorkers = include_str!("sql/overview_lost.sql");

    /// The paused queues with ready jobs.
    fn paused_backlogs() -> PausedBacklogs = include_str!("sql/overview_paused.sql");

    /// The queues that are full, in the order in which they became so, 100 at most.
    fn full_queues() -> FullQueues
        = "select b.queue, coalesce(l.waiting, l.code_waiting) as most, b.full_since
            from jobkit.bounds b join jobkit.limits l on l.scope = 'queue' and l.name = b.queue
            where b.full_since is not null
            order by b.full_since, b.queue limit 100";

    /// Batches that were opened a day ago and never closed, and have no live member.
    fn unclosed_batches() -> UnclosedBatches = include_str!("sql/overview_unclosed.sql");

    /// Queues and kinds of jobs that no live worker serves; this many at most.
    fn unserved_kinds(limit: i64) -> UnservedKinds = include_str!("sql/overview_unserved.sql");
}

/// The numbers of an overview.
#[derive(Debug)]
pub(crate) struct OverviewRow {
    pub(crate) at: DateTime<Utc>,
    pub(crate) ready: Count,
    pub(crate) running: u32,
    pub(crate) stopping: u32,
    pub(crate) gone: u32,
    /// Workers that are alive and not stopping.
    pub(crate) workers: u32,
    pub(crate) capacity: u32,
    pub(crate) scheduled: Count,
    pub(crate) due_soon: Count,
    pub(crate) next_run_at: Option<DateTime<Utc>>,
    pub(crate) retrying: Count,
    pub(crate) blocked: Count,
    pub(crate) dead: Count,
    pub(crate) dead_lately: Count,
    /// When the last of these failed.
    pub(crate) died_at: Option<DateTime<Utc>>,
    /// Batches that have not ended.
    pub(crate) open_batches: Count,
    /// Changes in batches that no worker has added up.
    pub(crate) batch_tallies: Count,
    /// Schedules that are not paused.
    pub(crate) schedules: Count,
    /// Whether any kind was ever announced.
    pub(crate) announced: bool,
    /// When a worker was last known to be alive.
    pub(crate) ended_at: DateTime<Utc>,
}

from_row! {
    OverviewRow { at, ready, running, stopping, gone, workers, capacity, scheduled, due_soon,
        next_run_at, retrying, blocked, dead, dead_lately, died_at, open_batches, batch_tallies,
        schedules, announced, ended_at }
    Run { job, queue, kind, worker, name, claimed_at, ran }
    Acknowledgement { what, subject, up_to, actor, reason, at }
    StandbyAwaited { sessions, longest, names }
}

/// An [`Attention::StandbyAwaited`].
#[derive(Debug)]
pub(crate) struct StandbyAwaited {
    pub(crate) sessions: u32,
    pub(crate) longest: Duration,
    pub(crate) names: String,
}

/// The longest wait, and what waits too long; the first row always exists.
type Waiting = (Option<Duration>, Vec<Attention>);

fn waiting(
    rows: &[PgRow],
    attention: impl Fn(&PgRow) -> sqlx::Result<Option<Attention>>,
) -> sqlx::Result<Waiting> {
    let oldest = rows.first().map(|row| row.read("oldest")).transpose()?.flatten();
    let found = rows.iter().filter_map(|row| attention(row).transpose());
    Ok((oldest, found.collect::<sqlx::Result<_>>()?))
}

/// [`Attention::LateQueue`]s, and how long the oldest ready job has been due.
pub(crate) enum LateQueues {}

impl Answer for LateQueues {
    type Read = Waiting;

    fn read(rows: &[PgRow]) -> sqlx::Result<Waiting> {
        waiting(rows, |row| {
            let Some(queue) = row.read("queue")? else { return Ok(None) };
            Ok(Some(Attention::LateQueue {
                queue,
                oldest: row.read("age")?,
                slots: row.read("slots")?,
                busy: count(row.read("busy")?, row.read("more")?),
                stopping: row.read("stopping")?,
                gone: row.read("gone")?,
            }))
        })
    }
}

/// [`Attention::HeldKey`]s and [`Attention::PausedKey`]s, and the longest wait of a blocked job.
pub(crate) enum HeldKeys {}

impl Answer for HeldKeys {
    type Read = Waiting;

    fn read(rows: &[PgRow]) -> sqlx::Result<Waiting> {
        waiting(rows, |row| {
            let Some(group) = row.read("grp")? else { return Ok(None) };
            let (key, blocked) = (row.read("key")?, row.read("blocked")?);
            let blocked_age = row.read("age")?;
            if let Some(until) = row.read("paused_until")? {
                return Ok(Some(Attention::PausedKey { group, key, until, blocked, blocked_age }));
            }
            let (limit, taken) = (row.read("effective_limit")?, row.read("taken")?);
            let by = match taken >= limit {
                true => Hold::Limit { limit, taken },
                false => {
                    Hold::Rate { rate: rate(row, "rate", "burst")?, next_at: row.read("next_at")? }
                }
            };
            Ok(Some(Attention::HeldKey { group, key, by, blocked, blocked_age }))
        })
    }
}

/// [`Attention::LostWorker`]s.
pub(crate) enum LostWorkers {}

impl Answer for LostWorkers {
    type Read = Vec<Attention>;

    fn read(rows: &[PgRow]) -> sqlx::Result<Vec<Attention>> {
        let worker = |row: &PgRow| {
            Ok(Attention::LostWorker {
                name: row.read("name")?,
                times: row.read("times")?,
                id: row.read("id")?,
                at: row.read("lost_at")?,
                ago: row.read("ago")?,
                jobs: row.read("jobs")?,
                back: row.read("back_at")?,
            })
        };
        rows.iter().map(worker).collect()
    }
}

/// [`Attention::PausedQueue`]s.
pub(crate) enum PausedBacklogs {}

impl Answer for PausedBacklogs {
    type Read = Vec<Attention>;

    fn read(rows: &[PgRow]) -> sqlx::Result<Vec<Attention>> {
        let queue = |row: &PgRow| {
            Ok(Attention::PausedQueue {
                queue: row.read("name")?,
                since: row.read("paused_at")?,
                actor: row.read("paused_by")?,
                reason: row.read("reason")?,
                ready: row.read("number")?,
            })
        };
        rows.iter().map(queue).collect()
    }
}

/// [`Attention::FullQueue`]s.
pub(crate) enum FullQueues {}

impl Answer for FullQueues {
    type Read = Vec<Attention>;

    fn read(rows: &[PgRow]) -> sqlx::Result<Vec<Attention>> {
        let queue = |row: &PgRow| {
            Ok(Attention::FullQueue {
                queue: row.read("queue")?,
                limit: row.read("most")?,
                since: row.read("full_since")?,
            })
        };
        rows.iter().map(queue).collect()
    }
}

/// [`Attention::UnclosedBatch`]es.
pub(crate) enum UnclosedBatches {}

impl Answer for UnclosedBatches {
    type Read = Vec<Attention>;

    fn read(rows: &[PgRow]) -> sqlx::Result<Vec<Attention>> {
        let batch = |row: &PgRow| {
            Ok(Attention::UnclosedBatch {
                batch: row.read("id")?,
                since: row.read("created_at")?,
                ago: row.read("ago")?,
            })
        };
        rows.iter().map(batch).collect()
    }
}

/// [`Attention::Unserved`] kinds.
pub(crate) enum UnservedKinds {}

impl Answer for UnservedKinds {
    type Read = Vec<Attention>;

    fn read(rows: &[PgRow]) -> sqlx::Result<Vec<Attention>> {
        let kind = |row: &PgRow| {
            let name: String = row.read("kind")?;
            let (kind, version) = split(&name);
            let told = version > 1 || row.read("otherwise_known")?;
            Ok(Attention::Unserved {
                queue: row.read("queue")?,
                kind: kind.to_owned(),
                version: told.then_some(version),
                announced: row.read("announced")?,
                jobs: count(row.read("number")?, row.read("more")?),
                since: row.read("since")?,
            })
        };
        rows.iter().map(kind).collect()
    }
}
