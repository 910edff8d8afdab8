//! A request and its jobs, as an exporter of OpenTelemetry sees them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod metrics;

use std::collections::HashMap;
use std::sync::OnceLock;

use jobkit::policy::encryption::{self, Keyring};
use jobkit::{Admin, Enqueue, Job, JobContext, JobError, job};
use jobkit_otel::Traces;
use jobkit_tests::Lab;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, Status, TraceId, TraceState, TracerProvider,
};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde::{Deserialize, Serialize};
use tracing::{Instrument, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::prelude::*;

/// Fails once, and says why.
#[derive(Serialize, Deserialize)]
#[job(backoff = fixed("1ms"), redact(card), encrypt(token))]
struct Charge {
    card: String,
    token: String,
}

impl Charge {
    fn of_anna() -> Self {
        Self { card: "card-of-anna".to_owned(), token: "token-of-anna".to_owned() }
    }
}

impl Job for Charge {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        if cx.attempt() == 1 {
            return Err(format!("the card {} is busy with {}", self.card, self.token).into());
        }
        Ok(())
    }
}

/// Enqueues another one.
#[derive(Serialize, Deserialize)]
#[job]
struct Ship {
    parts: u8,
}

impl Job<sqlx::PgPool> for Ship {
    async fn run(self, cx: JobContext<sqlx::PgPool>) -> jobkit::Result {
        if self.parts > 1 {
            Self { parts: self.parts - 1 }.enqueue(cx.state()).await.map_err(JobError::dead)?;
        }
        Ok(())
    }
}

/// Is cancelled by itself, and fails for that.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 1)]
struct Leaves;

impl Job<sqlx::PgPool> for Leaves {
    async fn run(self, cx: JobContext<sqlx::PgPool>) -> jobkit::Result {
        Admin::new(cx.state()).job(cx.id()).cancel().await?;
        Err(format!("{:?}", cx.cancelled().await).into())
    }
}

/// What this process has exported; there is one subscriber for all tests.
fn exported() -> &'static InMemorySpanExporter {
    static EXPORTER: OnceLock<InMemorySpanExporter> = OnceLock::new();
    EXPORTER.get_or_init(|| {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("tests"));
        tracing_subscriber::registry().with(layer).init();
        jobkit_otel::propagate().unwrap();
        encryption::keys(Keyring::new("key-1", *b"only a test: one of many letters").unwrap());
        exporter
    })
}

/// Runs what a request enqueues with these traces, and returns the request's span and those of the
/// attempts, in the order of their ends, as if they were its children: between them are only the
/// spans of enqueues.
async fn traced<F: Future<Output = ()>>(
    traces: Traces,
    request: impl FnOnce(sqlx::PgPool) -> F,
) -> (SpanData, Vec<SpanData>) {
    let exporter = exported();
    let lab = Lab::new().await;
    let name = format!("request {}", lab.url());
    let span = info_span!("request", otel.name = name);
    request(lab.pool().clone()).instrument(span).await;
    let worker = lab.worker().state(lab.pool().clone()).around(traces).queue("default", 5);
    let worker = worker.start().await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    let spans = exporter.get_finished_spans().unwrap();
    let request = spans.iter().find(|span| span.name == name).unwrap().clone();
    let trace = trace(&request);
    let linked = |span: &&SpanData| span.links.iter().any(|l| l.span_context.trace_id() == trace);
    let attempts = spans.iter().filter(|span| span.name.starts_with("process "));
    let ours = attempts.filter(|span| self::trace(span) == trace || linked(span));
    let ours = ours.cloned().map(|span| without_creation(span, &spans));
    (request, ours.collect())
}

/// An attempt, with the parents of the enqueues that it is a child of and linked to.
fn without_creation(mut attempt: SpanData, spans: &[SpanData]) -> SpanData {
    let creator = |of: SpanId| {
        let created = spans.iter().find(|span| id(span) == of && of != SpanId::INVALID)?;
        assert_eq!((&*created.name, &created.span_kind), ("create", &SpanKind::Producer));
        Some(created.parent_span_id)
    };
    if let Some(parent) = creator(attempt.parent_span_id) {
        attempt.parent_span_id = parent;
    }
    for link in &mut attempt.links.links {
        let parent = creator(link.span_context.span_id()).unwrap();
        let (trace, flags) = (link.span_context.trace_id(), link.span_context.trace_flags());
        link.span_context = SpanContext::new(trace, parent, flags, true, TraceState::default());
    }
    attempt
}

fn trace(span: &SpanData) -> TraceId {
    span.span_context.trace_id()
}

fn id(span: &SpanData) -> SpanId {
    span.span_context.span_id()
}

fn attribute(span: &SpanData, name: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == name);
    found.map(|attribute| attribute.value.to_string()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_and_its_three_jobs_one_retried_are_one_trace() {
    let (request, attempts) = traced(Traces::new(), async |pool| {
        Charge::of_anna().enqueue(&pool).await.unwrap();
        jobkit::enqueue_all([Ship { parts: 1 }, Ship { parts: 1 }], &pool).await.unwrap();
    })
    .await;
    assert_eq!(attempts.len(), 4, "{attempts:#?}");
    let all = exported().get_finished_spans().unwrap();
    assert!(all.iter().any(|span| span.name == "jobkit.claim"), "not only the attempts: {all:?}");
    for span in &all {
        for secret in ["of-anna", "jobkit:sealed"] {
            assert!(!format!("{span:?}").contains(secret), "{secret}: {span:#?}");
        }
    }
    for span in &attempts {
        assert_eq!((trace(span), span.parent_span_id), (trace(&request), id(&request)));
        assert_eq!(span.span_kind, SpanKind::Consumer);
        assert_eq!(attribute(span, "messaging.system"), "jobkit");
        assert_eq!(attribute(span, "queue"), "default");
    }
    let kinds = |kind: &'static str| {
        attempts.iter().filter(move |span| attribute(span, "job.kind") == kind)
    };
    assert_eq!(kinds("ship").count(), 2);
    let charges: Vec<_> = kinds("charge").collect();
    let facts = |span: &SpanData| {
        let failed = matches!(span.status, Status::Error { .. });
        (
            attribute(span, "attempt"),
            failed,
            span.links.iter().map(|l| l.span_context.span_id()).collect(),
        )
    };
    assert_eq!(facts(charges[0]), ("1".to_owned(), true, vec![]));
    assert_eq!(facts(charges[1]), ("2".to_owned(), false, vec![id(&request)]));
    assert_eq!(attribute(charges[0], "job.id"), attribute(charges[1], "job.id"));
}

/// The names that OpenTelemetry publishes, each in a line, but for those of particular systems.
const PUBLISHED: &str = include_str!("semconv-0.66b2.txt");

/// A backend draws queues from these attributes: each is one that the conventions know, and all are
/// there that they ask for.
#[tokio::test(flavor = "multi_thread")]
async fn spans_say_what_the_conventions_of_messaging_ask_for() {
    let (request, attempts) = traced(Traces::new(), async |pool| {
        Charge::of_anna().enqueue(&pool).await.unwrap();
    })
    .await;
    let spans = exported().get_finished_spans().unwrap();
    let is_creation = |span: &&SpanData| span.name == "create" && trace(span) == trace(&request);
    let creation = spans.iter().find(is_creation).unwrap();
    assert_eq!(creation.span_kind, SpanKind::Producer);
    for span in attempts.iter().chain([creation]) {
        let names = span.attributes.iter().map(|attribute| attribute.key.as_str());
        for name in names.filter(|name| name.starts_with("messaging") || name.starts_with("error"))
        {
            assert!(PUBLISHED.lines().any(|line| line == name), "{name} is not published");
        }
        let operation = attribute(span, "messaging.operation.type");
        assert!(PUBLISHED.lines().any(|line| line == format!("= {operation}")), "{operation}");
        assert_eq!(attribute(span, "messaging.operation.name"), operation);
        assert_eq!(attribute(span, "messaging.system"), "jobkit");
    }
    assert_eq!(attribute(creation, "messaging.operation.type"), "create");
    let [failed, well] = &attempts[..] else { panic!("{attempts:#?}") };
    for span in [failed, well] {
        assert_eq!(span.name, "process default");
        assert_eq!(attribute(span, "messaging.operation.type"), "process");
        assert_eq!(attribute(span, "messaging.destination.name"), "default");
        assert_eq!(attribute(span, "messaging.message.id"), attribute(span, "job.id"));
    }
    let kinds = [failed, well].map(|span| attribute(span, "error.type"));
    assert_eq!(kinds, ["_OTHER", ""], "a mere text has no type");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_cancelled_has_not_failed() {
    let (_, attempts) = traced(Traces::new(), async |pool| {
        Leaves.enqueue(&pool).await.unwrap();
    })
    .await;
    let [attempt] = &attempts[..] else { panic!("{attempts:#?}") };
    assert_eq!(
        (attribute(attempt, "error.type"), &attempt.status),
        (String::new(), &Status::Unset)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_a_job_enqueues_is_its_child() {
    let (request, attempts) = traced(Traces::new(), async |pool| {
        Ship { parts: 3 }.options().tags(["heavy"]).enqueue(&pool).await.unwrap();
    })
    .await;
    let mut parent = id(&request);
    for number in 0..3 {
        let child = attempts.iter().find(|span| span.parent_span_id == parent);
        let child = child.unwrap_or_else(|| panic!("{number}: {attempts:#?}"));
        assert_eq!(trace(child), trace(&request));
        parent = id(child);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_may_be_traces_of_their_own() {
    let (request, attempts) = traced(Traces::new().retries_apart(), async |pool| {
        Charge::of_anna().enqueue(&pool).await.unwrap();
    })
    .await;
    let [first, second] = &attempts[..] else { panic!("{attempts:#?}") };
    assert_eq!((trace(first), first.parent_span_id), (trace(&request), id(&request)));
    assert!(trace(second) != trace(&request) && second.parent_span_id == SpanId::INVALID);
    assert_eq!(second.links.iter().next().unwrap().span_context.span_id(), id(&request));
}

/// A request comes from elsewhere, with what its vendor says of the trace.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_vendor_says_of_a_trace_is_carried_to_the_attempts() {
    let exporter = exported();
    let lab = Lab::new().await;
    let number = "4bf92f3577b34da6a3ce929d0e0e4736";
    let headers = HashMap::from([
        ("traceparent".to_owned(), format!("00-{number}-00f067aa0ba902b7-01")),
        ("tracestate".to_owned(), "vendor=t61rcWkgMzE,other=1".to_owned()),
    ]);
    let span = info_span!("request from elsewhere");
    span.set_parent(TraceContextPropagator::new().extract(&headers)).unwrap();
    let enqueued = Ship { parts: 1 }.enqueue(lab.pool()).instrument(span).await;
    enqueued.unwrap();
    let worker = lab.worker().state(lab.pool().clone()).around(Traces::new()).queue("default", 1);
    let worker = worker.start().await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    let spans = exporter.get_finished_spans().unwrap();
    let attempt = spans.iter().find(|span| {
        span.name == "process default" && trace(span) == TraceId::from_hex(number).unwrap()
    });
    let state = attempt.unwrap_or_else(|| panic!("{spans:#?}")).span_context.trace_state();
    assert_eq!(state.header(), headers["tracestate"]);
}
