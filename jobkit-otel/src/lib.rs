//! OpenTelemetry traces through jobs: a request and the jobs that it enqueues are one trace, across
//! all processes.
//!
//! Install your tracer and its `tracing-opentelemetry` layer as usual, then add
//!
//! - [`propagate`], once in each process that enqueues: jobs carry the W3C trace context of the
//!   span that enqueues them, in their metadata;
//! - [`Traces`], around the handlers of each worker: the span of an attempt becomes a child of that
//!   span.
//!
//! ```no_run
//! use jobkit::Worker;
//! use jobkit_otel::Traces;
//! use opentelemetry::trace::TracerProvider as _;
//! use opentelemetry_sdk::trace::SdkTracerProvider;
//! use tracing_subscriber::prelude::*;
//!
//! # async fn f(pool: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
//! let provider = SdkTracerProvider::builder().build(); // with your exporter
//! let traces = tracing_opentelemetry::layer().with_tracer(provider.tracer("shop"));
//! tracing_subscriber::registry().with(traces).init();
//!
//! jobkit_otel::propagate()?;
//! let worker = Worker::new(pool).queue("mail", 20).around(Traces::new()).start().await?;
//! # worker.stop().await; Ok(()) }
//! ```
//!
//! The spans of jobkit have the level INFO: a filter on that layer must let `jobkit=info` through,
//! or there are no spans to connect.
//!
//! # Span attributes
//!
//! They follow OpenTelemetry's conventions for messaging, so a backend can show queues from them.
//! An enqueue is a span of the kind *producer*, named `create`, whose context the jobs carry. An
//! attempt is a span of the kind *consumer*, named `process` and the queue. Both have
//! `messaging.system` (`jobkit`), `messaging.operation.name` and `messaging.operation.type`. An
//! attempt also has `messaging.destination.name`, which is the queue, and `messaging.message.id`,
//! which is the job's id, in addition to jobkit's own `job.id`, `job.kind`, `queue` and `attempt`.
//!
//! If an attempt failed, its status is an error, and `error.type` is the Rust type of the error, or
//! `_OTHER`. The text of the error is left out: it may contain payload values that are
//! [redacted](https://docs.rs/jobkit) everywhere else.

mod traces;

use jobkit::hooks::{AlreadySet, Carrier};
use opentelemetry::Context;
use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
use opentelemetry::trace::TraceContextExt;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::{Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

pub use self::traces::Traces;

/// From now on, jobs that this process enqueues carry the trace context of the span that enqueues
/// them: `traceparent` and `tracestate`, as the W3C defines them.
///
/// If jobs carry other context as well, call [`inject`] in your own function.
///
/// # Errors
/// [`AlreadySet`]: something is already [propagated](jobkit::hooks::propagate).
pub fn propagate() -> Result<(), AlreadySet> {
    jobkit::hooks::propagate(inject)
}

/// Creates the span of the enqueue, a child of the current one, and adds its trace context to what
/// a job carries.
pub fn inject(carried: &mut Carrier) {
    let span = info_span!("jobkit.create", otel.kind = "producer", otel.name = "create");
    messaging(&span, "create");
    let created = span.context();
    // Without a tracing layer, the context is OpenTelemetry's current one.
    let context = if created.has_active_span() { created } else { Context::current() };
    TraceContextPropagator::new().inject_context(&context, &mut Into(carried));
}

/// The attributes that the conventions require of every messaging span.
fn messaging(span: &Span, operation: &'static str) {
    span.set_attribute("messaging.system", "jobkit");
    span.set_attribute("messaging.operation.name", operation);
    span.set_attribute("messaging.operation.type", operation);
}

/// The trace context that a job carries.
#[must_use]
pub fn extract(carried: &Carrier) -> Context {
    TraceContextPropagator::new().extract_with_context(&Context::new(), &From(carried))
}

struct Into<'a>(&'a mut Carrier);

impl Injector for Into<'_> {
    fn set(&mut self, key: &str, value: String) {
        if !value.is_empty() {
            self.0.set(key, value);
        }
    }
}

struct From<'a>(&'a Carrier);

impl Extractor for From<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)
    }

    fn keys(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name).collect()
    }
}
