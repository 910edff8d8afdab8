//! What monitoring asks for.

use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use jobkit::{DeadLetterFilter, Error};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::router::Answer;
use crate::visit::Visit;

/// The process is there.
pub(crate) async fn healthy(_: &Visit) -> Answer {
    Ok("ok\n".into_response())
}

/// The database answers, too.
pub(crate) async fn ready(visit: &Visit) -> Answer {
    let asked = visit.shared.admin.paused();
    let answer = tokio::time::timeout(Duration::from_secs(2), asked).await;
    Ok(match answer {
        Ok(Ok(_)) => "ok\n".into_response(),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n").into_response(),
    })
}

pub(crate) async fn text(visit: &Visit) -> Answer {
    let mut text = String::new();
    let encoded = encode(&mut text, &registry(visit).await?);
    encoded.unwrap_or_else(|_| text.clear());
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}

async fn registry(visit: &Visit) -> Result<Registry, Error> {
    let admin = visit.admin();
    let mut registry = Registry::with_prefix("jobkit");
    let mut gauge = |name: &str, text: &str, value: i64| {
        let gauge = Gauge::<i64>::default();
        gauge.set(value);
        registry.register(name, text, gauge);
    };
    let paused = admin.paused().await?;
    gauge("queues_paused", "Queues that are paused", paused.len().try_into().unwrap_or(i64::MAX));
    let dead = admin.count_dead_letters(&DeadLetterFilter::all()).await?;
    gauge("dead_letters_open", "Open dead letters, 10000 at most", dead.number().into());
    Ok(registry)
}
