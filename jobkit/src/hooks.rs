//! Being told what happens, and what jobs carry from their enqueue to their handlers.
//!
//! ```no_run
//! use jobkit::{Worker, hooks::Event};
//! # async fn f(pool: sqlx::PgPool) -> Result<(), jobkit::Error> {
//! let worker = Worker::new(pool).queue("mail", 20).hook(|event| match event {
//!     Event::Ended(ended) => println!("job {}: {}", ended.job, ended.outcome.as_str()),
//!     other => println!("{other:?}"),
//! });
//! # worker.start().await?; Ok(()) }
//! ```
//!
//! Hooks run on a thread of their own, one after the other, and are told through a queue of 1,024
//! events. A slow hook holds up the hooks, and nothing else: events that find the queue full are
//! dropped, with a warning and [counted](crate::WorkerHandle::counts) as `unheard`. A hook that
//! panics hears of the next event all the same. So hooks are for watching; what has to happen
//! belongs into a handler or a [layer](crate::around).

mod carried;
mod told;

use std::borrow::Cow;
use std::time::Duration;

pub use self::carried::{AlreadySet, Carried, propagate};
pub(crate) use self::carried::{carry, carry_value, of_metadata};
pub use self::told::on_enqueue;
pub(crate) use self::told::sent;
pub(crate) use self::told::{Hook, Hooks};
use crate::JobId;
use crate::unique::Enqueued;

/// What a hook of a worker is told, after the fact.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// The worker has started.
    Started {
        /// The id it is registered under, which changes if it is reaped.
        worker: i64,
    },
    /// It claims no more: its owner or an operator stops it, or the schema has moved on.
    Stopping {
        /// Its id.
        worker: i64,
    },
    /// It has stopped in order: no handler runs, and what could be written is. A worker that is
    /// aborted does not say so.
    Stopped {
        /// Its id.
        worker: i64,
    },
    /// An outcome is written.
    Ended(Ended),
}

/// An attempt whose outcome is written and committed. Of an outcome that came too late, because
/// the claim was lost, hooks are not told.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Ended {
    /// The job.
    pub job: JobId,
    /// How the attempt ended: what was recorded, where that differs from what the handler returned.
    pub outcome: Outcome,
    /// What is known of the run; nothing where the handler did not run, as of a job that had
    /// expired, or was given back before it began.
    pub run: Option<Run>,
    /// What is recorded of a failure, or why the job was discarded or has expired.
    pub error: Option<String>,
    /// After how long the job runs again, unless that is at once or never.
    pub again_in: Option<Duration>,
}

/// What is known of an attempt that ran.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Run {
    /// The kind, by the name that it has now.
    pub kind: &'static str,
    /// The queue.
    pub queue: std::sync::Arc<str>,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// How long it ran.
    pub took: Duration,
    /// How long the job had been due when it began.
    pub waited: Duration,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It succeeded.
    Finish,
    /// It failed and is tried again.
    Retry,
    /// It put itself off, or was told to wait.
    Snooze,
    /// It failed for good: a dead letter.
    Bury,
    /// The job ended without success and without a dead letter.
    Discard,
    /// The job ended without a run: it had not begun when it expired.
    Expire,
    /// The job was to run again, and ended: another one has taken its place.
    Supersede,
    /// Somebody cancelled the job.
    Cancel,
    /// It was given back, uncharged.
    Release,
}

impl Outcome {
    /// The word, as the measures have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Finish => "finish",
            Self::Retry => "retry",
            Self::Snooze => "snooze",
            Self::Bury => "bury",
            Self::Discard => "discard",
            Self::Expire => "expire",
            Self::Supersede => "supersede",
            Self::Cancel => "cancel",
            Self::Release => "release",
        }
    }
}

/// Jobs that this process has sent to the database. They exist once the transaction commits that
/// they were sent in, which nobody tells.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Sent {
    /// The kind of the first one.
    pub kind: Cow<'static, str>,
    /// The new jobs.
    pub jobs: Vec<JobId>,
}

impl Sent {
    /// The new ones among them.
    pub(crate) fn of(kind: Cow<'static, str>, enqueued: &[Enqueued]) -> Self {
        let new = enqueued.iter().filter(|enqueued| matches!(enqueued, Enqueued::New(_)));
        Self { kind, jobs: new.map(|enqueued| enqueued.id()).collect() }
    }
}
