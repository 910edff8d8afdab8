//! Jobs that run in chunks: one call for many jobs of a kind, and an outcome for each.
//!
//! Use it for work that costs as much for a hundred jobs as for one: a bulk insert, a request that
//! takes a list.
//!
//! ```
//! use jobkit::chunk::{ChunkJob, Member};
//! use jobkit::{JobError, job};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! #[job(queue = "search", chunk = 100, linger = "50ms", timeout = "30s")]
//! struct IndexProduct {
//!     product: i64,
//! }
//!
//! impl ChunkJob for IndexProduct {
//!     async fn run(chunk: Vec<Member<Self>>) -> jobkit::Result {
//!         let products: Vec<i64> = chunk.iter().map(|member| member.product).collect();
//!         let missing = index(&products).await?; // an error is the outcome of all
//!         for member in chunk.iter().filter(|member| missing.contains(&member.product)) {
//!             member.answer(Err(JobError::discard("the product is gone")));
//!         }
//!         Ok(()) // the outcome of all others
//!     }
//! }
//!
//! async fn index(products: &[i64]) -> std::io::Result<Vec<i64>> {
//!     Ok(products.iter().copied().filter(|product| *product == 7).collect())
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let jobs = vec![IndexProduct { product: 6 }, IndexProduct { product: 7 }];
//! let outcomes = jobkit::chunk::run_for_test(jobs, ()).await;
//! assert!(outcomes[0].is_ok() && outcomes[1].is_err());
//! # }
//! ```
//!
//! Each member of a chunk is a job like any other: it takes a slot, and has its own attempts,
//! timeout (which begins before it lingers), permit, context and outcome. All jobs of a chunk are
//! from one queue, and there are never more than the worker has slots for that queue: give the
//! queue as many slots as `chunk`, or a multiple.

mod call;

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::call::{Call, Gatherers};
use crate::context::Attempt;
use crate::error_type::AnyError;
use crate::job_type::JobType;
use crate::policy::Chunk;
use crate::returned::{HandlerFuture, Returned};
use crate::states::States;
use crate::stored::Stored;
use crate::{JobContext, JobError, Result};

/// What a chunk of jobs does. Implement it instead of [`Job`](crate::Job) for a kind with
/// `#[job(chunk = …)]`.
///
/// `S` is the state they need, given once with [`Worker::state`](crate::Worker::state).
#[diagnostic::on_unimplemented(
    message = "job `{Self}` has a `chunk` but does not implement `ChunkJob`",
    label = "this job has no `run` for a chunk",
    note = "write `impl jobkit::chunk::ChunkJob for {Self}` with `async fn run(chunk: \
            Vec<Member<Self>>) -> jobkit::Result`, or leave `chunk` out and write `impl \
            jobkit::Job`"
)]
pub trait ChunkJob<S = ()>:
    JobType<Output = ()> + Serialize + DeserializeOwned + Send + 'static
{
    /// Runs the jobs of a chunk: at least one, in no particular order.
    ///
    /// The return value is the outcome of every member that has not been
    /// [answered](Member::answer): `Ok(())` finishes them, an error applies to each. A panic counts
    /// as an error.
    fn run(chunk: Vec<Member<Self, S>>) -> impl Future<Output = Result> + Send;
}

/// A member of a chunk; it dereferences to its job.
pub struct Member<J, S = ()> {
    job: J,
    cx: JobContext<S>,
    call: Arc<dyn Answers>,
    seat: usize,
}

/// The recipient of answers.
pub(crate) trait Answers: Send + Sync {
    fn answer(&self, seat: usize, outcome: Result);
}

impl<J, S> Member<J, S> {
    /// The job.
    #[must_use]
    pub fn job(&self) -> &J {
        &self.job
    }

    /// The context of the job: its id and attempt, and when to stop. Each member has its own;
    /// [`cancelled`](JobContext::cancelled) may complete for one and not for the others.
    #[must_use]
    pub fn context(&self) -> &JobContext<S> {
        &self.cx
    }

    /// The state given with [`Worker::state`](crate::Worker::state).
    #[must_use]
    pub fn state(&self) -> &S {
        self.cx.state()
    }

    /// Sets the outcome of this job, independently of the others. The outcome is recorded, and the
    /// slot freed, when the call next awaits while no [blocking work](JobContext::blocking) is
    /// running; for the last member of a chunk, once the call has returned. Only the first answer
    /// counts.
    pub fn answer(&self, outcome: Result) {
        self.call.answer(self.seat, outcome);
    }
}

impl<J, S> Deref for Member<J, S> {
    type Target = J;

    fn deref(&self) -> &J {
        &self.job
    }
}

/// Without the payload, which may contain secrets.
impl<J, S> fmt::Debug for Member<J, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("id", &self.cx.id()).finish_non_exhaustive()
    }
}

/// Runs a chunk of these jobs in a test, without a database, and returns the outcome of each. Every
/// context is that of job 0, in the first of 20 attempts.
///
/// # Panics
/// If the handler panics.
pub async fn run_for_test<J, S>(jobs: Vec<J>, state: S) -> Vec<Result>
where
    J: ChunkJob<S>,
    S: Send + Sync + 'static,
{
    let cx = JobContext::for_test(state);
    let call = Arc::new(Call::default());
    let seats: Vec<_> = jobs.into_iter().map(|job| call.sit(job, cx.clone())).collect();
    tokio::spawn(Arc::clone(&call).run());
    let mut outcomes = Vec::new();
    for seat in seats {
        outcomes.push(seat.outcome().await);
    }
    outcomes
}

/// The initial states of a worker: the calls that gather jobs.
pub(crate) fn states() -> States {
    let mut states = States::default();
    states.insert(Gatherers::default());
    states
}

/// Decodes a payload, and creates the future of a member.
pub(crate) fn start<J: ChunkJob<S>, S: Send + Sync + 'static>(
    stored: Stored<'_>,
    attempt: Arc<Attempt>,
    states: &States,
) -> Result<HandlerFuture, String> {
    let job = stored.job::<J>()?;
    let state = states.get::<S>().expect("the start-up check found every state");
    let gatherers = states.get::<Gatherers>().expect("it is always there");
    let gatherer = gatherers.of::<J, S>(&attempt.queue);
    let Chunk { max, linger } = J::POLICY.chunk.unwrap_or_default();
    // After two crashes: this job may be what brings the others down.
    let max = usize::from(max).min(attempt.beside.saturating_add(1));
    let cx = JobContext::new(attempt, state);
    let joined = gatherer.join(job, cx, max, linger);
    Ok(Box::pin(async { joined.await.map(|()| Returned::Nothing) }))
}

/// An error shared by several jobs.
#[derive(Debug)]
struct Shared(Arc<AnyError>);

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for Shared {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Makes as many copies of an outcome as needed.
fn copies(outcome: Result) -> impl FnMut() -> Result {
    let shared = outcome.map_err(|error| {
        let JobError { verdict, error, error_type } = error;
        (verdict, Arc::new(error), error_type)
    });
    move || match &shared {
        Ok(()) => Ok(()),
        Err((verdict, error, error_type)) => Err(JobError {
            verdict: *verdict,
            error: Box::new(Shared(Arc::clone(error))),
            error_type: error_type.clone(),
        }),
    }
}
