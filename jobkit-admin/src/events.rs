//! Live pages: a stream that only says when something has changed. Pages then reload themselves,
//! with the rights of their visitor.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream;
use tokio::time::{Instant, timeout_at};

use crate::context::Context;
use crate::failure::Answer;
use crate::failure::Failure;
use crate::signals::Listener;

/// How often a page is refreshed to show changes made elsewhere.
const TICK: Duration = Duration::from_secs(5);

/// How long to collect a burst of changes.
const DEBOUNCE: Duration = Duration::from_millis(250);

/// The longest lifetime of a stream, and so the longest wait of a server that shuts down without
/// signalling it. Browsers reconnect.
const LIFE: Duration = Duration::from_secs(25);

pub(crate) async fn stream(context: &Context) -> Answer {
    let signals = &context.shared.signals;
    let listener = Listener::admit(&signals.listeners).ok_or(Failure::Busy)?;
    let end = Instant::now() + LIFE;
    let state = (signals.changed.subscribe(), signals.stop.clone(), listener);
    let events = stream::unfold(state, move |(mut changed, mut stop, listener)| async move {
        let tick = Instant::now() + TICK;
        if tick > end {
            return None;
        }
        let told = tokio::select! {
            () = &mut stop => return None,
            told = timeout_at(tick, changed.changed()) => told,
        };
        if let Ok(told) = told {
            told.ok()?;
            tokio::time::sleep(DEBOUNCE).await;
            changed.mark_unchanged();
        }
        let event = Event::default().event("jobkit").data("changed");
        Some((Ok::<_, Infallible>(event), (changed, stop, listener)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}
