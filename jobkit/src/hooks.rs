//! Hooks, which observe what happens, and values that jobs carry from their enqueue to their
//! handlers.
//!
//! ```no_run
//! use jobkit::{Worker, hooks::Event};
//! # async fn f(pool: sqlx::PgPool) -> Result<(), jobkit::error::StartError> {
//! let worker = Worker::new(pool).queue("mail", 20).hook(|event| match event {
//!     Event::Ended(ended) => println!("job {}: {}", ended.job, ended.outcome.as_str()),
//!     other => println!("{other:?}"),
//! });
//! # worker.start().await?; Ok(()) }
//! ```
//!
//! Hooks run one after the other on a thread of their own, and get events through a queue of 1,024.
//! A slow hook delays only other hooks: if the queue is full, events are dropped, with a warning,
//! and [counted](crate::WorkerHandle::counts) as `unheard`. A hook that panics still gets the next
//! event. So use hooks to observe; work that must be done belongs in a handler or a
//! [layer](crate::around).

mod carrier;
mod told;

use std::borrow::Cow;
use std::time::Duration;

pub(crate) use self::carrier::carried;
pub use self::carrier::{AlreadySet, Carrier, propagate};
pub use self::told::on_enqueue;
pub(crate) use self::told::sent;
pub(crate) use self::told::{Hook, Hooks};
use crate::JobId;
pub use crate::outcome::Outcome;
use crate::unique::Enqueued;

/// What happened in a worker, for its hooks.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// The worker has started.
    Started {
        /// The id it is registered under, which changes if it is reaped.
        worker: i64,
    },
    /// The worker claims no more jobs: its owner or an operator is stopping it, or the schema has
    /// moved on.
    Stopping {
        /// Its id.
        worker: i64,
    },
    /// The worker has stopped cleanly: no handler runs, and everything that could be written was. A
    /// worker that is aborted does not send this.
    Stopped {
        /// Its id.
        worker: i64,
    },
    /// An outcome was written.
    Ended(Ended),
}

/// An attempt whose outcome is written and committed. Hooks are not told of an outcome that came
/// too late because the claim was lost.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Ended {
    /// The job.
    pub job: JobId,
    /// How the attempt ended, as recorded; that may differ from what the handler returned.
    pub outcome: Outcome,
    /// Details of the run; `None` if the handler did not run, as for a job that had expired, or was
    /// given back before it started.
    pub run: Option<Run>,
    /// The recorded error, or why the job was discarded or expired.
    pub error: Option<String>,
    /// After how long the job runs again; `None` if immediately or never.
    pub again_in: Option<Duration>,
}

/// Details of an attempt that ran.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Run {
    /// The kind, by its current name.
    pub kind: &'static str,
    /// The queue.
    pub queue: std::sync::Arc<str>,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// How long it ran.
    pub took: Duration,
    /// How long the job had been due when it started.
    pub waited: Duration,
}

/// Jobs that this process has sent to the database. They exist once the transaction in which they
/// were sent commits; that commit is not reported.
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
