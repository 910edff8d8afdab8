//! From a claimed job to the future that its attempt polls.

use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{Instrument, Span};

use super::Execution;
use crate::around::{Inside, layered};
use crate::context::Attempt;
use crate::panics::message;
use crate::reach::Reach;
use crate::registry::Known;
use crate::store::ClaimedJob;
use crate::worker::claim::slots::Served;
use crate::worker::run::running::Handler;
use crate::{JobContext, JobError, JobId, registration};

/// What an attempt polls; and what is inside of its layers, if there are any.
pub(super) type Started = (registration::Running, Option<Arc<Inside>>);

impl Execution {
    /// The future of an attempt: its handler's or, where there are layers, theirs with the handler
    /// inside.
    ///
    /// # Errors
    /// Why the payload does not decode. Within layers it is decoded when they run it.
    pub(super) fn start(
        &self,
        &Known { registration, version, .. }: &Known,
        payload: Box<[u8]>,
        attempt: Arc<Attempt>,
        span: &Span,
    ) -> Result<Started, String> {
        let Some(stack) = self.layers.of(registration.policy().kind) else {
            let start = || registration.start(version, &payload, attempt, &self.states);
            let started = span.in_scope(|| catch_unwind(AssertUnwindSafe(start)));
            return Ok((started.unwrap_or_else(|panic| Err(message(&*panic)))?, None));
        };
        let cx = JobContext::new(Arc::clone(&attempt), Arc::new(()));
        let states = Arc::clone(&self.states);
        let handler = async move {
            let start = || registration.start(version, &payload, attempt, &states);
            let started = catch_unwind(AssertUnwindSafe(start));
            let started = started.unwrap_or_else(|panic| Err(message(&*panic)));
            started.map_err(JobError::undecodable)?.await
        };
        let (future, inside) = layered(stack, cx, Box::pin(handler.instrument(span.clone())));
        Ok((future, Some(inside)))
    }
}

/// What its context tells an attempt.
pub(super) fn attempt(
    job: &mut ClaimedJob,
    served: &Served,
    timeout: Option<Duration>,
    began: Instant,
    handler: &Handler,
    (span, reach): (&Span, &Option<Arc<dyn Reach>>),
) -> Arc<Attempt> {
    Arc::new(Attempt {
        id: JobId(job.id),
        kind: take(&mut job.kind),
        queue: Arc::clone(&served.name),
        beside: if job.crashes >= 2 { 0 } else { served.slots.saturating_sub(1) },
        number: job.attempt,
        max_attempts: job.max_attempts,
        snoozes: job.snoozes,
        created_at: job.created_at,
        deadline: timeout.and_then(|timeout| began.checked_add(timeout)),
        tags: take(&mut job.tags),
        metadata: job.metadata.take(),
        stop: Arc::clone(&handler.stop),
        span: span.clone(),
        reach: reach.clone(),
    })
}
