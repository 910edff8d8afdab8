use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::job_type::JobType;
use crate::{JobContext, Result};

/// What a job does when it runs.
///
/// The struct is the payload: it is stored as JSON and read back as `self`. `S` is the state the
/// job needs, set once with [`Worker::state`](crate::Worker::state); leave it out if the job needs
/// none.
///
/// ```
/// use jobkit::{Job, JobContext, job};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// #[job(queue = "mail", max_attempts = 5)]
/// struct Welcome {
///     user: i64,
/// }
///
/// impl Job for Welcome {
///     async fn run(self, cx: JobContext) -> jobkit::Result {
///         println!("job {} greets user {}", cx.id(), self.user);
///         Ok(())
///     }
/// }
/// ```
///
/// A job runs at least once: after a crash an attempt may be repeated. So make the effect
/// idempotent, or write it in one transaction with a row that is unique by something in the
/// payload, such as an order number, or send [`JobContext::idempotency_key`] along.
/// [`JobContext::id`] is not an idempotency key.
#[diagnostic::on_unimplemented(
    message = "job `{Self}` does not implement `Job`",
    label = "this job has no `run`",
    note = "write `impl jobkit::Job for {Self}` with \
            `async fn run(self, cx: JobContext) -> jobkit::Result`, or `impl jobkit::Job<App>` if \
            it needs the state `App`; a `ChunkJob` needs `#[job(chunk = …)]`"
)]
pub trait Job<S = ()>: JobType + Serialize + DeserializeOwned + Send + 'static {
    /// Runs the job once.
    ///
    /// `Ok(())` finishes it, or `Ok` with a value of the type in `#[job(result = …)]`. Any error
    /// retries it with backoff; return a [`JobError`](crate::JobError) for anything else. A panic
    /// counts as an error.
    // The compiler shows the line behind an arrow where `run` returns something else.
    #[rustfmt::skip]
    fn run(self, cx: JobContext<S>)
        -> impl Future<Output = Result<Self::Output>> + Send; // `()` unless `#[job(result = …)]`
}
