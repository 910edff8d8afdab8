use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;
use sqlx::postgres::types::PgInterval;

use super::attention::Attention;
use crate::admin::Count;
use crate::admin::count::count;
use crate::store::{Answer, One, ReadColumn, from_row, statements};
use crate::version::split;

statements! {
    /// What waits, runs and is dead.
    fn overview_counts() -> One<OverviewRow> = include_str!("sql/overview_counts.sql");

    /// Queues in which a job has been ready for longer than this.
    fn late_queues(late: PgInterval) -> LateQueues = include_str!("sql/overview_ready.sql");

    /// Keys without a permit left whose next job has waited for longer than this.
    fn keys_at_limit(late: PgInterval) -> KeysAtLimit = include_str!("sql/overview_blocked.sql");

    /// The oldest open operation: its id, its verb, and how long ago it got further.
    fn oldest_operation() -> Option<(i64, String, Duration)>
        = include_str!("sql/overview_operation.sql");

    /// Workers that were lost within the last hour, the last first, 20 at most.
    fn lost_workers() -> LostWorkers
        = "select l.id, l.name, l.lost_at, l.jobs from jobkit.lost_workers l
            where l.lost_at > now() - interval '1 h' order by l.lost_at desc, l.id limit 20";

    /// The paused queues with ready jobs.
    fn paused_backlogs() -> PausedBacklogs = include_str!("sql/overview_paused.sql");

    /// The queues that are full, in the order in which they became so, 20 at most.
    fn full_queues() -> FullQueues
        = "select b.queue, coalesce(b.override, b.announced) as bound, b.full_since
            from jobkit.bounds b where b.full_since is not null
            order by b.full_since, b.queue limit 20";

    /// Queues and kinds of jobs that no live worker serves; this many at most.
    fn unserved_kinds(limit: i64) -> UnservedKinds = include_str!("sql/overview_unserved.sql");
}

/// The numbers of an overview.
#[derive(Debug)]
pub(crate) struct OverviewRow {
    pub(crate) at: DateTime<Utc>,
    pub(crate) ready: Count,
    pub(crate) running: u32,
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
}

from_row! {
    OverviewRow { at, ready, running, workers, capacity, scheduled, due_soon, next_run_at, retrying,
        blocked, dead, dead_lately }
}

/// How long the longest wait is, and what waits too long; the first row is there in any case.
type Waiting = (Option<Duration>, Vec<Attention>);

fn waiting(
    rows: &[PgRow],
    attention: impl Fn(&PgRow) -> sqlx::Result<Option<Attention>>,
) -> sqlx::Result<Waiting> {
    let oldest = rows.first().map(|row| row.read("oldest")).transpose()?.flatten();
    let found = rows.iter().filter_map(|row| attention(row).transpose());
    Ok((oldest, found.collect::<sqlx::Result<_>>()?))
}

/// [`Attention::LateQueue`]s, and how long the ready job has been due that was due first.
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
            }))
        })
    }
}

/// [`Attention::KeyAtLimit`]s, and how long the blocked job waits that waits longest.
pub(crate) enum KeysAtLimit {}

impl Answer for KeysAtLimit {
    type Read = Waiting;

    fn read(rows: &[PgRow]) -> sqlx::Result<Waiting> {
        waiting(rows, |row| {
            let Some(group) = row.read("grp")? else { return Ok(None) };
            Ok(Some(Attention::KeyAtLimit {
                group,
                key: row.read("key")?,
                limit: row.read("effective_limit")?,
                taken: row.read("taken")?,
                blocked: row.read("blocked")?,
                blocked_age: row.read("age")?,
            }))
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
                id: row.read("id")?,
                name: row.read("name")?,
                at: row.read("lost_at")?,
                jobs: row.read("jobs")?,
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
                bound: row.read("bound")?,
                since: row.read("full_since")?,
            })
        };
        rows.iter().map(queue).collect()
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
            })
        };
        rows.iter().map(kind).collect()
    }
}
