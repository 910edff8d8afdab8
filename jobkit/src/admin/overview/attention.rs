use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::admin::limits::{Pause, Rate, Scope};
use crate::admin::schedules::{OverdueSchedule, PausedSchedule};
use crate::admin::stuck::StuckJob;
use crate::admin::workers::WorkerSummary;
use crate::admin::{Count, Severity};
use crate::{BatchId, JobId};

/// Something that an operator should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Attention {
    /// There is work (live jobs, an open operation, a schedule that is not paused), and no worker
    /// is alive that is not stopping. Its consequences are not listed separately: silent workers,
    /// overdue schedules, keys whose permits nobody returns, and unserved kinds.
    NoWorker {
        /// How many jobs are live, not all of them due.
        jobs: Count,
        /// How many schedules would fire.
        schedules: Count,
        /// Whether an operation is open.
        operation: bool,
        /// The names of workers whose lease has lapsed, five at most.
        silent: Vec<String>,
        /// When the last worker was alive; 1970 if there never was one.
        since: DateTime<Utc>,
    },
    /// Commits have waited for a synchronous standby for five seconds: nothing is enqueued, claimed
    /// or ended until one confirms them.
    StandbyAwaited {
        /// How many sessions wait.
        sessions: u32,
        /// How long the longest has waited.
        longest: Duration,
        /// The server's setting `synchronous_standby_names`.
        names: String,
    },
    /// A worker has not renewed its lease in time: less than a quarter of it is left, or nothing.
    LateWorker(WorkerSummary),
    /// Jobs that no live worker serves: no worker that is not stopping serves the queue and knows
    /// the kind. Without any worker, this only lists kinds that were never announced, in a database
    /// where others were.
    Unserved {
        /// Their queue.
        queue: String,
        /// Their kind.
        kind: String,
        /// The version of their payloads, if it matters: it is not 1, or some live worker of the
        /// queue knows another one.
        version: Option<u16>,
        /// Whether some worker has ever announced the kind.
        announced: bool,
        /// How many there are among the first 50 ready jobs of each priority of the queue, the
        /// first 1,000 blocked jobs and the first 1,000 scheduled jobs.
        jobs: Count,
        /// When the first of these was enqueued.
        since: Option<DateTime<Utc>>,
    },
    /// A job that a live worker serves has been ready for longer than
    /// [`late_after`](crate::Admin::late_after), in a queue that is not paused.
    LateQueue {
        /// The queue.
        queue: String,
        /// How long that job has been due or has had its permit.
        oldest: Duration,
        /// How many of its jobs can run at once on live workers that are not stopping.
        slots: u32,
        /// How many of these slots are taken.
        busy: Count,
        /// How many of its jobs run on workers that are stopping.
        stopping: u32,
        /// How many are held by workers that are gone, until a worker takes them back.
        gone: u32,
    },
    /// A queue was full when a worker last counted its jobs: enqueues to it are refused with
    /// [`QueueFull`](crate::error::QueueFull).
    FullQueue {
        /// The queue.
        queue: String,
        /// How many jobs of it may wait.
        limit: u32,
        /// When it became full.
        since: DateTime<Utc>,
    },
    /// Workers of one name died within the last hour: their leases lapsed, and their jobs were
    /// taken back. This ends when a worker of that name has been alive again for
    /// [`late_after`](crate::Admin::late_after).
    LostWorker {
        /// Their name without the process id: `web-1` for `web-1:17`.
        name: String,
        /// How often.
        times: u32,
        /// The id of the last.
        id: i64,
        /// When the last was found to be lost.
        at: DateTime<Utc>,
        /// How long ago that was.
        ago: Duration,
        /// How many jobs they had then in total.
        jobs: u32,
        /// When a worker of that name came back.
        back: Option<DateTime<Utc>>,
    },
    /// A job for which a transition fails through no fault of its own.
    StuckJob(StuckJob),
    /// Jobs of a kind run for much longer than usual: for longer than
    /// [`late_after`](crate::Admin::late_after) and four times what 99 of 100 attempts took within
    /// the last week; for a kind with fewer than 20 attempts, twelve times `late_after`.
    LongRun {
        /// The queue.
        queue: String,
        /// The kind.
        kind: String,
        /// The one that has run the longest.
        job: JobId,
        /// The worker that runs it.
        worker: i64,
        /// The worker's name.
        name: String,
        /// How long ago it was claimed.
        ran: Duration,
        /// What 99 of 100 attempts took; `None` if too few were measured.
        usual: Option<Duration>,
        /// How many jobs of the kind have run that long.
        jobs: u32,
        /// When the last of these was claimed.
        newest: DateTime<Utc>,
    },
    /// The oldest open operation has made no progress for longer than
    /// [`late_after`](crate::Admin::late_after).
    StuckOperation {
        /// Its id.
        operation: i64,
        /// Its verb.
        verb: String,
        /// How long ago it last made progress.
        since: Duration,
    },
    /// An instant of a schedule that is not paused has been overdue for longer than
    /// [`late_after`](crate::Admin::late_after), and no worker has fired it.
    OverdueSchedule(OverdueSchedule),
    /// A batch was opened more than a day ago and never closed, and no member of it is live: the
    /// program that opened it may have died.
    UnclosedBatch {
        /// Its id.
        batch: BatchId,
        /// When it was opened.
        since: DateTime<Utc>,
        /// How long ago that was.
        ago: Duration,
    },
    /// A job has been waiting for a permit of its concurrency key for longer than
    /// [`late_after`](crate::Admin::late_after).
    HeldKey {
        /// The group of the key.
        group: String,
        /// The key.
        key: String,
        /// What it waits for.
        by: Hold,
        /// Jobs that wait; no more than 10,000 are counted.
        blocked: Count,
        /// How long the first of them has been waiting.
        blocked_age: Duration,
    },
    /// Jobs became dead letters during the last hour and are open, except those whose cause is
    /// [muted](crate::admin::dead_letters::CauseRef::mute).
    DeadLetters {
        /// How many; no more than 10,000 are counted.
        lately: Count,
        /// When the last of them failed.
        last: DateTime<Utc>,
    },
    /// Jobs wait in a paused queue.
    PausedQueue {
        /// Its name.
        queue: String,
        /// When it was paused.
        since: DateTime<Utc>,
        /// Who paused it, by the name they gave.
        actor: Option<String>,
        /// The reason they gave.
        reason: Option<String>,
        /// How many jobs of it are ready; no more than 10,000 are counted.
        ready: Count,
    },
    /// A kind is paused, or everything is.
    PausedScope {
        /// Which of these.
        scope: Scope,
        /// Its pause.
        pause: Pause,
    },
    /// Jobs wait for a paused concurrency key: they have waited for longer than
    /// [`late_after`](crate::Admin::late_after), or the pause has that long left.
    PausedKey {
        /// The group of the key.
        group: String,
        /// The key.
        key: String,
        /// When its pause ends.
        until: DateTime<Utc>,
        /// Jobs that wait; no more than 10,000 are counted.
        blocked: Count,
        /// How long the first of them has been waiting.
        blocked_age: Duration,
    },
    /// A schedule is paused and did not fire because of that.
    PausedSchedule(PausedSchedule),
}

/// Why a concurrency key grants no permit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hold {
    /// All its permits are taken.
    Limit {
        /// How many of its jobs may run at a time; with 0, none.
        limit: u32,
        /// Permits taken.
        taken: u32,
    },
    /// The next of its jobs may not start yet.
    Rate {
        /// How often they may.
        rate: Option<Rate>,
        /// When the next one may.
        next_at: Option<DateTime<Utc>>,
    },
}

impl Attention {
    /// All names, the most urgent first.
    pub const NAMES: [&'static str; 18] = [
        "no_worker",
        "standby_awaited",
        "late_worker",
        "unserved",
        "late_queue",
        "full_queue",
        "lost_worker",
        "stuck_job",
        "long_run",
        "stuck_operation",
        "overdue_schedule",
        "unclosed_batch",
        "held_key",
        "dead_letters",
        "paused_queue",
        "paused_scope",
        "paused_key",
        "paused_schedule",
    ];

    /// Its name, as used outside Rust: one of [`NAMES`](Self::NAMES).
    #[must_use]
    pub fn name(&self) -> &'static str {
        Self::NAMES[self.rank()]
    }

    /// Its place among [`NAMES`](Self::NAMES).
    pub(crate) fn rank(&self) -> usize {
        match self {
            Self::NoWorker { .. } => 0,
            Self::StandbyAwaited { .. } => 1,
            Self::LateWorker(_) => 2,
            Self::Unserved { .. } => 3,
            Self::LateQueue { .. } => 4,
            Self::FullQueue { .. } => 5,
            Self::LostWorker { .. } => 6,
            Self::StuckJob(_) => 7,
            Self::LongRun { .. } => 8,
            Self::StuckOperation { .. } => 9,
            Self::OverdueSchedule(_) => 10,
            Self::UnclosedBatch { .. } => 11,
            Self::HeldKey { .. } => 12,
            Self::DeadLetters { .. } => 13,
            Self::PausedQueue { .. } => 14,
            Self::PausedScope { .. } => 15,
            Self::PausedKey { .. } => 16,
            Self::PausedSchedule(_) => 17,
        }
    }

    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        Self::severity_of(self.name())
    }

    /// The severity of items of this name. It is a note if the cause may be intended, or is the
    /// application itself.
    #[must_use]
    pub fn severity_of(name: &str) -> Severity {
        match name {
            "no_worker" | "standby_awaited" | "stuck_job" => Severity::Critical,
            "held_key" | "dead_letters" | "paused_queue" | "paused_scope" | "paused_key"
            | "paused_schedule" => Severity::Note,
            _ => Severity::Warning,
        }
    }
}
