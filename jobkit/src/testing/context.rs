use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};

use crate::context::{Attempt, Facts};
use crate::stop::{Stop, WorkerWide};
use crate::{JobContext, JobId, StopReason};

/// A context for calling [`Job::run`](crate::Job::run) in a test: by default job 0, first attempt
/// of 20, not asked to stop. Its checkpoints and steps are kept in memory.
///
/// ```
/// # use jobkit::{Job, JobContext, JobError, job, report::Verdict};
/// # use serde::{Deserialize, Serialize};
/// use jobkit::testing::context;
///
/// # #[derive(Serialize, Deserialize)] #[job] struct Welcome { user: i64 }
/// # impl Job for Welcome {
/// #     async fn run(self, cx: JobContext) -> jobkit::Result {
/// #         if cx.attempt() == cx.max_attempts() { return Err(JobError::dead("no such user")); }
/// #         Err("no such user".into())
/// #     }
/// # }
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let last = context(()).attempt(20).build();
/// let error = Welcome { user: -1 }.run(last).await.unwrap_err();
/// assert_eq!(error.verdict(), Verdict::Dead);
/// # }
/// ```
#[must_use = "a context is made by `build`"]
pub fn context<S>(state: S) -> ContextBuilder<S> {
    ContextBuilder {
        state,
        id: JobId(0),
        facts: Facts::for_test(),
        queue: "test".to_owned(),
        timeout: None,
        stops: Stops::default(),
        steps: Vec::new(),
    }
}

/// Builds a [`JobContext`] for a test; created by [`context`].
#[derive(Debug)]
#[must_use = "a context is made by `build`"]
pub struct ContextBuilder<S> {
    state: S,
    id: JobId,
    facts: Facts,
    queue: String,
    timeout: Option<Duration>,
    stops: Stops,
    steps: Vec<(String, String)>,
}

impl<S> ContextBuilder<S> {
    /// Sets [`JobContext::id`].
    pub fn id(self, id: i64) -> Self {
        Self { id: JobId(id), ..self }
    }

    /// Sets [`JobContext::kind`].
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.facts.kind = kind.into();
        self
    }

    /// Sets [`JobContext::queue`].
    pub fn queue(self, queue: impl Into<String>) -> Self {
        Self { queue: queue.into(), ..self }
    }

    /// Sets [`JobContext::attempt`], counted from 1.
    pub fn attempt(mut self, number: u32) -> Self {
        self.facts.attempt = number;
        self
    }

    /// Sets [`JobContext::max_attempts`].
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.facts.max_attempts = max_attempts;
        self
    }

    /// Sets [`JobContext::snoozes`].
    pub fn snoozes(mut self, snoozes: u32) -> Self {
        self.facts.snoozes = snoozes;
        self
    }

    /// Sets [`JobContext::created_at`].
    pub fn created_at(mut self, created_at: DateTime<Utc>) -> Self {
        self.facts.created_at = created_at;
        self
    }

    /// Sets [`JobContext::deadline`] to this long after [`build`](Self::build). Nothing asks the
    /// handler to stop at that time; use [`stops`](Self::stops) for that.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Sets [`JobContext::tags`].
    pub fn tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.facts.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`JobContext::metadata`].
    pub fn metadata(mut self, metadata: Value) -> Self {
        let json = serde_json::value::to_raw_value(&metadata);
        self.facts.metadata = Some(json.expect("a JSON value is JSON"));
        self
    }

    /// Adds a text to [`JobContext::carried`].
    pub fn carries(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.carried.set(name, value);
        self
    }

    /// Sets [`JobContext::instant`], as if a schedule of this name had enqueued the job.
    pub fn instant(self, schedule: &str, instant: DateTime<Utc>) -> Self {
        self.metadata(json!({ "schedule": schedule, "instant": instant.to_rfc3339() }))
    }

    /// As if an earlier attempt had run this [step](JobContext::step), and it had returned this.
    ///
    /// # Panics
    /// If the value is not JSON.
    pub fn step<T: Serialize>(mut self, name: impl Into<String>, value: &T) -> Self {
        let json = serde_json::to_string(value).expect("the value of a step is JSON");
        self.steps.push((name.into(), json));
        self
    }

    /// As if the worker were already stopping: [`JobContext::stopping`] completes immediately.
    pub fn stopping(self) -> Self {
        self.stops.stop();
        self
    }

    /// As if the attempt already had to end, for this reason: [`JobContext::cancelled`] completes
    /// immediately.
    pub fn cancelled(self, reason: StopReason) -> Self {
        self.stops.cancel(reason);
        self
    }

    /// A handle to stop the handler while it runs.
    #[must_use]
    pub fn stops(&self) -> Stops {
        self.stops.clone()
    }

    /// The context.
    #[must_use]
    pub fn build(self) -> JobContext<S> {
        let attempt = Attempt {
            id: self.id,
            facts: self.facts,
            queue: self.queue.into(),
            deadline: self.timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
            stop: self.stops.stop,
            ..Attempt::for_test()
        };
        attempt.steps.read(self.steps);
        JobContext::new(Arc::new(attempt), Arc::new(self.state))
    }
}

/// Stops the handler that runs with a [`context`], as a worker does.
///
/// ```
/// # use jobkit::{JobContext, StopReason, testing::context};
/// # async fn import(cx: JobContext) -> StopReason { cx.stopping().await }
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let cx = context(());
/// let stops = cx.stops();
/// let (reason, ()) = tokio::join!(import(cx.build()), async { stops.stop() });
/// assert_eq!(reason, StopReason::Stopping);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Stops {
    worker: Arc<WorkerWide>,
    stop: Arc<Stop>,
}

impl Default for Stops {
    fn default() -> Self {
        let worker = Arc::default();
        Self { stop: Arc::new(Stop::of_worker(&worker)), worker }
    }
}

impl Stops {
    /// As if the worker were stopping: [`JobContext::stopping`] completes.
    pub fn stop(&self) {
        self.worker.stopping.cancel();
    }

    /// As if the attempt had to end, for this reason: [`JobContext::cancelled`] and
    /// [`JobContext::stopping`] complete.
    pub fn cancel(&self, reason: StopReason) {
        self.stop.ask(reason);
    }
}
