//! A request and its jobs, the one that a job enqueues among them, are one trace, printed as a tree
//! with an attempt in each line: `cargo run --example traces`

use anyhow::Context;
use jobkit::hooks::{Event, Outcome};
use jobkit::{Enqueue, Job, JobContext, Worker, job};
use jobkit_otel::Traces;
use opentelemetry::trace::{SpanId, Status, TracerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use tracing::{Instrument, info_span};
use tracing_subscriber::prelude::*;

#[derive(Serialize, Deserialize)]
#[job(backoff = fixed("100ms"))]
struct ChargeCard;

impl Job<PgPool> for ChargeCard {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        if cx.attempt() == 1 {
            return Err("the bank does not answer".into());
        }
        ShipOrder.enqueue(cx.state()).await?;
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
#[job]
struct ShipOrder;

impl Job for ShipOrder {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
#[job]
struct SendReceipt;

impl Job for SendReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let exporter = InMemorySpanExporter::default(); // yours sends them to a collector
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let traces = tracing_opentelemetry::layer().with_tracer(provider.tracer("shop"));
    tracing_subscriber::registry().with(traces).init();
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;

    jobkit_otel::propagate()?;
    let request = async {
        ChargeCard.enqueue(&pool).await?;
        SendReceipt.enqueue(&pool).await
    };
    request.instrument(info_span!("request")).await?;

    let (ended, mut ends) = tokio::sync::mpsc::unbounded_channel();
    let worker = Worker::new(pool.clone())
        .only::<(ChargeCard, ShipOrder, SendReceipt)>()
        .state(pool)
        .queue("default", 5)
        .around(Traces::new())
        .hook(move |event| {
            if let Event::Ended(event) = event {
                let _nobody_waits = ended.send(event.outcome);
            }
        })
        .start()
        .await?;
    let mut finished = 0;
    while finished < 3 {
        let Some(outcome) = ends.recv().await else { break };
        finished += u32::from(outcome == Outcome::Finish);
    }
    worker.stop().await;

    let spans = exporter.get_finished_spans()?;
    let request = spans.iter().find(|span| span.name == "request").context("no request")?;
    println!("request");
    print_attempts(&spans, request.span_context.span_id(), "  ");
    Ok(())
}

/// The attempts of the jobs that were enqueued in this span, and under each its own.
fn print_attempts(spans: &[SpanData], parent: SpanId, indent: &str) {
    let enqueues = spans.iter().filter(|span| span.name == "create");
    let enqueues: Vec<_> = enqueues.filter(|span| span.parent_span_id == parent).collect();
    let is_of = |job: &&SpanData| {
        enqueues.iter().any(|span| span.span_context.span_id() == job.parent_span_id)
    };
    let attempts = spans.iter().filter(|span| span.name.starts_with("process "));
    let mut children: Vec<_> = attempts.filter(is_of).collect();
    children.sort_by_key(|span| (attribute(span, "job.kind"), attribute(span, "attempt")));
    for span in children {
        let (kind, attempt) = (attribute(span, "job.kind"), attribute(span, "attempt"));
        let failed = if matches!(span.status, Status::Error { .. }) { ", failed" } else { "" };
        println!("{indent}{kind}, attempt {attempt}{failed}");
        print_attempts(spans, span.span_context.span_id(), &format!("{indent}  "));
    }
}

fn attribute(span: &SpanData, name: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == name);
    found.map(|attribute| attribute.value.to_string()).unwrap_or_default()
}
