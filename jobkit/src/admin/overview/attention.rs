use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::admin::brakes::Brake;
use crate::admin::schedules::OverdueSchedule;
use crate::admin::stuck::StuckJob;
use crate::admin::workers::WorkerSummary;
use crate::admin::{Count, Severity};

/// Something that an operator should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Attention {
    /// There are live jobs, or an operation is open, and no worker is alive that is not stopping.
    NoWorker {
        /// How many jobs are live, not all of them due.
        jobs: Count,
    },
    /// A worker has not renewed its lease in time: less than a quarter of it is left, or nothing.
    LateWorker(WorkerSummary),
    /// Jobs that no live worker serves: none that is not stopping has the queue and knows the kind.
    /// Only kinds that were never announced are told of while there is no worker at all.
    Unserved {
        /// Their queue.
        queue: String,
        /// Their kind.
        kind: String,
        /// The version of their payloads, where it matters: it is not the first, or some live
        /// worker of the queue knows another one.
        version: Option<u16>,
        /// Whether some worker has ever announced the kind.
        announced: bool,
        /// How many were met among the first 50 ready ones of each priority of the queue, and among
        /// the first 1,000 of those that are blocked and of those that are scheduled.
        jobs: Count,
    },
    /// A job that a live worker serves has been ready for longer than
    /// [`late_after`](crate::Admin::late_after), in a queue that is not paused.
    LateQueue {
        /// The queue.
        queue: String,
        /// How long that job has been due, or had its permit.
        oldest: Duration,
        /// How many of its jobs live workers can run at once.
        slots: u32,
        /// How many of them are taken.
        busy: Count,
    },
    /// A queue has as many jobs waiting as may, as a worker found when it last looked: enqueues to
    /// it are refused with [`Error::QueueFull`](crate::Error::QueueFull).
    FullQueue {
        /// The queue.
        queue: String,
        /// How many jobs of it may wait.
        bound: u32,
        /// Since when it is full.
        since: DateTime<Utc>,
    },
    /// A worker died within the last hour: its lease lapsed, and its jobs were taken back.
    LostWorker {
        /// Its id.
        id: i64,
        /// What it called itself.
        name: String,
        /// When that was found out.
        at: DateTime<Utc>,
        /// How many jobs it had then.
        jobs: u32,
    },
    /// A job with which a transition fails through no fault of its own.
    StuckJob(StuckJob),
    /// The oldest open operation has got no further for longer than
    /// [`late_after`](crate::Admin::late_after).
    StuckOperation {
        /// Its id.
        operation: i64,
        /// What it does.
        verb: String,
        /// How long.
        since: Duration,
    },
    /// The instant of a schedule has passed for longer than
    /// [`late_after`](crate::Admin::late_after), and nobody has fired it.
    OverdueSchedule(OverdueSchedule),
    /// A concurrency key has no permit left, and a job has been waiting for one for longer than
    /// [`late_after`](crate::Admin::late_after).
    KeyAtLimit {
        /// Its group.
        group: String,
        /// The key.
        key: String,
        /// How many of its jobs may run at a time; with 0 none ever will.
        limit: u32,
        /// Permits taken.
        taken: u32,
        /// Jobs that wait; no more than 10,000 are counted.
        blocked: Count,
        /// How long the next of them has been waiting.
        blocked_age: Duration,
    },
    /// Jobs became dead letters during the last hour, and are open; but for those whose cause is
    /// [muted](crate::Admin::mute_cause).
    DeadLetters {
        /// How many; no more than 10,000 are counted.
        lately: Count,
    },
    /// Jobs wait in a paused queue.
    PausedQueue {
        /// Its name.
        queue: String,
        /// Since when it is paused.
        since: DateTime<Utc>,
        /// Who paused it, as they said.
        actor: Option<String>,
        /// Why, as they said.
        reason: Option<String>,
        /// How many jobs of it are ready; no more than 10,000 are counted.
        ready: Count,
    },
    /// A kind is paused, or everything is.
    PausedScope(Brake),
}

impl Attention {
    /// All there are by their names, the most urgent first.
    pub const NAMES: [&'static str; 13] = [
        "no_worker",
        "late_worker",
        "unserved",
        "late_queue",
        "full_queue",
        "lost_worker",
        "stuck_job",
        "stuck_operation",
        "overdue_schedule",
        "key_at_limit",
        "dead_letters",
        "paused_queue",
        "paused_scope",
    ];

    /// Its name, as everything outside Rust has it: one of [`NAMES`](Self::NAMES).
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::NoWorker { .. } => "no_worker",
            Self::LateWorker(_) => "late_worker",
            Self::Unserved { .. } => "unserved",
            Self::LateQueue { .. } => "late_queue",
            Self::FullQueue { .. } => "full_queue",
            Self::LostWorker { .. } => "lost_worker",
            Self::StuckJob(_) => "stuck_job",
            Self::StuckOperation { .. } => "stuck_operation",
            Self::OverdueSchedule(_) => "overdue_schedule",
            Self::KeyAtLimit { .. } => "key_at_limit",
            Self::DeadLetters { .. } => "dead_letters",
            Self::PausedQueue { .. } => "paused_queue",
            Self::PausedScope(_) => "paused_scope",
        }
    }

    /// Its place among [`NAMES`](Self::NAMES).
    pub(crate) fn rank(&self) -> Option<usize> {
        Self::NAMES.iter().position(|name| *name == self.name())
    }

    /// How bad it is. What may well be on purpose, or what an application does to itself, is a
    /// note.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::NoWorker { .. } | Self::StuckJob(_) => Severity::Critical,
            Self::LateWorker(_)
            | Self::Unserved { .. }
            | Self::LateQueue { .. }
            | Self::FullQueue { .. }
            | Self::LostWorker { .. }
            | Self::StuckOperation { .. }
            | Self::OverdueSchedule(_) => Severity::Warning,
            Self::KeyAtLimit { .. }
            | Self::DeadLetters { .. }
            | Self::PausedQueue { .. }
            | Self::PausedScope(_) => Severity::Note,
        }
    }

    /// What was found: a sentence without its full stop. Names are as they were given.
    #[must_use]
    pub fn found(&self) -> String {
        match self {
            Self::NoWorker { jobs } => format!("no worker is alive, and {jobs} jobs are there"),
            Self::LateWorker(worker) => silent(worker),
            Self::Unserved { queue, kind, version, announced, jobs } => {
                let ever = if *announced { "" } else { ", and none has ever announced it" };
                let of =
                    version.map(|version| format!("version {version} of ")).unwrap_or_default();
                format!("no live worker serves {of}the kind {kind} in {queue}{ever}: {jobs} wait")
            }
            Self::LateQueue { queue, oldest, slots, busy } => {
                let oldest = span(*oldest);
                format!("queue {queue} is {oldest} late, with {busy} of {slots} slots taken")
            }
            Self::FullQueue { queue, bound, .. } => {
                let jobs = of_jobs(*bound);
                format!("queue {queue} is full: {jobs} may wait, and enqueues are refused")
            }
            Self::LostWorker { id, name, jobs, .. } => {
                format!("worker {name} ({id:x}) was lost, with {} in hand", of_jobs(*jobs))
            }
            Self::StuckJob(stuck) => format!("job {}: {stuck}", stuck.job),
            Self::StuckOperation { operation, verb, since } => {
                format!("operation {operation} ({verb}) got no further for {}", span(*since))
            }
            Self::OverdueSchedule(OverdueSchedule { name, times, overdue }) => {
                format!("schedule {name} ({times}) is {} overdue", span(*overdue))
            }
            Self::KeyAtLimit { group, key, limit, taken, blocked, blocked_age } => {
                let age = span(*blocked_age);
                format!(
                    "{group}/{key} has {taken} of {limit} permits taken, {blocked} blocked, the \
                     next for {age}"
                )
            }
            Self::DeadLetters { lately } => format!("{lately} dead letters within the last hour"),
            Self::PausedQueue { queue, actor, reason, ready, .. } => {
                let by = actor.as_ref().map(|actor| [" by ", actor].concat()).unwrap_or_default();
                let why = reason.as_ref().map(|why| [": ", why].concat()).unwrap_or_default();
                format!("queue {queue} is paused{by}, {ready} ready{why}")
            }
            Self::PausedScope(brake) => format!("{} is held back: {brake}", brake.scope),
        }
    }

    /// What to do about it: a sentence without its full stop.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::NoWorker { .. } => "start a worker, and see in its log why the last one ended",
            Self::LateWorker(_) => {
                "see whether its process runs and reaches the database; else its jobs are taken \
                 back automatically"
            }
            Self::Unserved { announced: true, version: Some(_), .. } => {
                "start a worker that serves the queue and whose binary knows this version, or has \
                 an `upcast` for it"
            }
            Self::Unserved { announced: true, .. } => {
                "start a worker that serves the queue and has the kind"
            }
            Self::Unserved { announced: false, .. } => {
                "start a worker whose binary has the kind (one crate of jobs may not be linked), \
                 or cancel them"
            }
            Self::LateQueue { .. } => {
                "see what its slots are busy with; give it more, or start more workers"
            }
            Self::FullQueue { .. } => {
                "see what holds its jobs up, start more workers, or raise its bound"
            }
            Self::LostWorker { .. } => {
                "its jobs run again automatically: see why its process ended or froze (out of \
                 memory, a blocked thread, the network)"
            }
            Self::StuckJob(stuck) if stuck.transition == "open" => {
                "give the workers of its queue the key that its payload is sealed with; the job \
                 then continues automatically"
            }
            Self::StuckJob(_) => {
                "mend what the server says (a damaged page, a full disk, a missing replica \
                 identity); the job then continues automatically"
            }
            Self::StuckOperation { .. } => {
                "see whether a worker is alive and what its log says of it, or cancel it"
            }
            Self::OverdueSchedule(_) => {
                "see whether a worker is alive that can read its times, and what its log says of it"
            }
            Self::KeyAtLimit { limit: 0, .. } => "nothing of it ever runs: raise its limit",
            Self::KeyAtLimit { .. } => "see what holds its permits, or raise its limit",
            Self::DeadLetters { .. } => "see what their causes are, then replay or discard them",
            Self::PausedQueue { .. } | Self::PausedScope(_) => "resume it once the reason is gone",
        }
    }
}

fn silent(worker: &WorkerSummary) -> String {
    let WorkerSummary { name, id, heartbeat_age, running, lapsed, .. } = worker;
    let lease = if *lapsed { "has lapsed" } else { "runs out" };
    let silent = span(*heartbeat_age);
    format!(
        "worker {name} ({id:x}) is silent for {silent}, its lease {lease}, with {running} running"
    )
}

fn of_jobs(number: u32) -> String {
    if number == 1 { "1 job".to_owned() } else { format!("{number} jobs") }
}

/// `12 s`, `14 min`, `5 h`.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6000 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}
