//! From a claimed job to the future that its attempt polls.

use std::borrow::Cow;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use tracing::Instrument;

use super::Execution;
use crate::around::{Inside, layered};
use crate::context::{Attempt, Completing, Report, Steps};
use crate::encryption::{self, Unopened};
use crate::panics::message;
use crate::policy::Policy;
use crate::redact::{hidden_texts, scrubbed};
use crate::registry::Known;
use crate::reports::logged_by;
use crate::returned::HandlerFuture;
use crate::store::{ClaimId, ClaimedJob};
use crate::worker::shared::running::Handler;
use crate::{JobContext, JobError, JobId};

/// What an attempt polls, and what is inside its layers, if there are any.
pub(super) type Started = (HandlerFuture, Option<Arc<Inside>>);

impl Execution {
    /// The future of an attempt: its handler's, or that of its layers with the handler inside.
    ///
    /// # Errors
    /// Why the payload does not decode. Within layers it is decoded when they run the handler.
    pub(super) fn start(
        &self,
        known: &Known,
        payload: Box<[u8]>,
        attempt: Arc<Attempt>,
    ) -> Result<Started, String> {
        let &Known { ref registration, version, .. } = known;
        let Some(stack) = self.layers.of(registration.policy().kind) else {
            let start =
                || registration.start(version, &payload, Arc::clone(&attempt), &self.states);
            let started = attempt.span.in_scope(|| catch_unwind(AssertUnwindSafe(start)));
            let started = started.unwrap_or_else(|panic| Err(message(&*panic)));
            let started = started.map_err(|error| scrubbed(&error, attempt.report.hidden()))?;
            return Ok((started, None));
        };
        let (registration, span) = (*registration, attempt.span.clone());
        let cx = JobContext::new(Arc::clone(&attempt), Arc::new(()));
        let states = Arc::clone(&self.states);
        let handler = async move {
            let start = || registration.start(version, &payload, attempt, &states);
            let started = catch_unwind(AssertUnwindSafe(start));
            let started = started.unwrap_or_else(|panic| Err(message(&*panic)));
            started.map_err(JobError::undecodable)?.await
        };
        let (future, inside) = layered(stack, cx, Box::pin(handler.instrument(span)));
        Ok((future, Some(inside)))
    }

    /// The data behind the context of an attempt.
    pub(super) fn attempt(
        &self,
        claim: ClaimId,
        job: &mut ClaimedJob,
        policy: &Policy,
        began: Instant,
        handler: &Handler,
    ) -> Arc<Attempt> {
        let queues = self.slots.queues();
        let queue = &queues[job.queue];
        let slots = self.slots.pools()[queue.pool].slots;
        let span = tracing::info_span!(
            "jobkit.run", job.id = job.id, job.kind = %job.facts.kind, queue = %queue.name,
            attempt = job.facts.attempt, otel.kind = tracing::field::Empty,
            otel.name = tracing::field::Empty
        );
        let hidden = hidden(&job.payload, policy);
        handler.stop.hold.is_of(policy.kind, policy.timeout);
        let reports = Arc::downgrade(&self.reports);
        let attempt = Arc::new(Attempt {
            id: JobId(job.id),
            facts: take(&mut job.facts),
            queue: Arc::clone(&queue.name),
            beside: if job.crashes >= 2 { 0 } else { slots.saturating_sub(1) },
            deadline: policy.timeout.and_then(|timeout| began.checked_add(timeout)),
            stop: Arc::clone(&handler.stop),
            span,
            reach: self.reach.clone(),
            report: Report::of((claim.worker, claim.n), began, hidden, reports),
            keep: policy.retention,
            completing: Completing::default(),
            steps: Steps::default(),
        });
        logged_by(&attempt);
        attempt
    }
}

/// Opens the sealed values in the payload of a job.
///
/// # Errors
/// Why it cannot be opened.
pub(super) fn opened(
    job: &mut ClaimedJob,
    Known { registration, kind, version }: &Known,
) -> Result<(), Unopened> {
    let opened = encryption::opened(registration.policy(), kind, *version, &job.payload)?;
    if let Cow::Owned(opened) = opened {
        job.payload = opened.into_boxed_slice();
    }
    Ok(())
}

/// The reason, if a payload is not opened because this worker lacks its key.
pub(super) fn missing_key(opened: &Result<(), Unopened>) -> Option<&Unopened> {
    opened.as_ref().err().filter(|why| why.missing_key().is_some())
}

/// The values of a payload that must not be shown.
fn hidden(payload: &[u8], policy: &Policy) -> Vec<String> {
    if policy.redact.is_empty() {
        return Vec::new();
    }
    hidden_texts(&String::from_utf8_lossy(payload), policy.redact)
}
