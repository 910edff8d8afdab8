use std::sync::Once;

use jobkit::around::{Around, Next};
use jobkit::{JobContext, StopReason};
use opentelemetry::KeyValue;
use opentelemetry::trace::{Status, TraceContextExt};
use tracing_opentelemetry::{OpenTelemetrySpanExt, SetParentError};

use crate::{extract, messaging};

/// A layer that puts the span of each attempt into its trace: give it to
/// [`Worker::around`](jobkit::Worker::around) before other layers.
///
/// The first attempt is a child of the span that enqueued the job. Later attempts are children of
/// that span as well, and linked to it, so the request, its jobs and their retries are one trace.
/// With [`retries_apart`](Self::retries_apart), later attempts are separate traces instead. An
/// attempt of a job without a trace context begins a trace.
#[derive(Debug, Clone, Copy, Default)]
pub struct Traces {
    retries_apart: bool,
}

impl Traces {
    /// One trace for a request and all attempts of its jobs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Each attempt except the first begins a separate trace, which is linked to the span that
    /// enqueued the job. Use it for jobs that are retried for days, if the backend ends traces
    /// sooner.
    #[must_use]
    pub fn retries_apart(mut self) -> Self {
        self.retries_apart = true;
        self
    }

    /// Puts the span of this attempt into its trace.
    fn place(self, cx: &JobContext) {
        let span = cx.span();
        span.record("otel.kind", "consumer");
        span.record("otel.name", format!("process {}", cx.queue()));
        messaging(span, "process");
        span.set_attribute("messaging.destination.name", cx.queue().to_owned());
        span.set_attribute("messaging.message.id", cx.id().to_string());
        let context = extract(&cx.carried());
        let enqueued_by = context.span().span_context().clone();
        let again = cx.attempt() > 1;
        if enqueued_by.is_valid()
            && !(again && self.retries_apart)
            && let Err(error) = span.set_parent(context)
        {
            warn(&error);
        }
        if again {
            let attempt = KeyValue::new("attempt", i64::from(cx.attempt()));
            span.add_link_with_attributes(enqueued_by, vec![attempt]);
        }
    }
}

impl Around for Traces {
    async fn around(&self, cx: JobContext, next: Next) -> jobkit::Result {
        self.place(&cx);
        let result = next.run().await;
        // A cancelled job ends as cancelled, even if it returns an error.
        if let Err(error) = &result
            && error.is_failure()
            && cx.stop_reason() != Some(StopReason::Cancelled)
        {
            let name = error.error_type().unwrap_or("_OTHER").to_owned();
            cx.span().set_attribute("error.type", name);
            cx.span().set_status(Status::error(""));
        }
        result
    }
}

/// Logs once why there are no traces of jobs.
fn warn(error: &SetParentError) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing::warn!(%error, "jobkit: cannot put the spans of attempts into their traces");
    });
}
