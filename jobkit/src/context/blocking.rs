//! Work that blocks its thread.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

use super::JobContext;

/// How many threads a process has for blocking work at most, as many as tokio has.
const THREADS: usize = 512;

static FREE: Semaphore = Semaphore::const_new(THREADS);

impl<S: Send + Sync + 'static> JobContext<S> {
    /// Runs a closure on a thread of its own, where it may compute or block for as long as it
    /// needs, and returns its result. Whatever happens to the handler meanwhile, **the job belongs
    /// to this attempt until the closure returns**, with its permit and its slot. The outcome is
    /// recorded after that, and the worker keeps renewing the lease for the job, if necessary
    /// beyond its own stop.
    ///
    /// The closure gets the context, so that it can check when to stop and report its progress:
    ///
    /// ```
    /// # use jobkit::{JobContext, JobError};
    /// # fn render(page: u64) {}
    /// # async fn run(cx: JobContext) -> jobkit::Result {
    /// let whole = cx
    ///     .blocking(|cx| {
    ///         for page in 0..1_000 {
    ///             if cx.stop_reason().is_some() {
    ///                 return false;
    ///             }
    ///             render(page);
    ///             cx.progress(page, 1_000, "rendering");
    ///         }
    ///         true
    ///     })
    ///     .await;
    /// if !whole {
    ///     return Err(JobError::release());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// A closure ends only when it returns or the process ends. A timeout or a cancel can only ask
    /// it to, through [`stop_reason`](Self::stop_reason); when a handler is dropped after its
    /// [grace](crate::Worker::cancel_grace), the closure keeps running. A worker that stops waits
    /// for it at most as long as [`stop_within`](crate::Worker::stop_within) says, and no runtime
    /// waits for its thread (as it would for tokio's `spawn_blocking`): when `main` returns, the
    /// process ends even if the closure still runs. The job then runs again after the lease,
    /// charged as a crash.
    ///
    /// It runs within the attempt's [span](Self::span), and `Handle::current` is the handler's
    /// runtime. In a chunk, the jobs of all its members are kept. A process runs at most 512
    /// closures at a time; others wait until one returns, and do not start if their handler ends
    /// first.
    ///
    /// # Panics
    /// If the closure panics, which is a failed attempt, like every panic of a handler.
    pub async fn blocking<T, F>(&self, work: F) -> T
    where
        T: Send + 'static,
        F: FnOnce(&Self) -> T + Send + 'static,
    {
        let Ok(place) = FREE.acquire().await else { return std::future::pending().await };
        let (tell, told) = oneshot::channel();
        let (cx, runtime) = (self.clone(), Handle::try_current().ok());
        let under_way = self.attempt.stop.begin_work();
        let begun = thread::Builder::new().name("jobkit-blocking".to_owned()).spawn(move || {
            let _until_it_is_back = (place, under_way);
            let _entered = runtime.as_ref().map(Handle::enter);
            let done = cx.span().in_scope(|| catch_unwind(AssertUnwindSafe(|| work(&cx))));
            let _nobody_waits = tell.send(done);
        });
        if let Err(error) = begun {
            resume_unwind(Box::new(format!("cannot start a thread for blocking work: {error}")));
        }
        match told.await {
            Ok(Ok(value)) => value,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => resume_unwind(Box::new("the thread of blocking work is gone")),
        }
    }
}
