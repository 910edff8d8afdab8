//! What every request passes: who is it, may they, and is there room.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;
use tower_http::csrf::ProtectionError;

use crate::access::{Access, Permissions};
use crate::dashboard::Shared;
use crate::failure::Failure;
use crate::router::Entry;
use crate::visit::Visit;
use crate::{REQUESTS, compressed};

/// The largest body that is read: a payload of 1 MiB, in a form.
const BODY_BYTES: usize = 4 << 20;

/// How long a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(2);

const HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::VARY, "accept-encoding, cookie, hx-request"),
];

pub(crate) struct Gate {
    shared: Arc<Shared>,
    room: Semaphore,
}

impl Gate {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, room: Semaphore::new(REQUESTS) }
    }

    /// Serves a request that a route of the table matches.
    pub(crate) async fn pass(
        &self,
        entry: &Entry,
        params: &RawPathParams,
        request: Request,
    ) -> Response {
        let (parts, body) = request.into_parts();
        let access = match entry.needs {
            None => Access::new("", Permissions::none()),
            Some(_) => match self.shared.access(&parts).await {
                Ok(access) => access,
                Err(response) => return response,
            },
        };
        let mut visit = Visit::new(&self.shared, access, &parts, params);
        let allowed = entry.needs.is_none_or(|permission| visit.may(permission));
        if !allowed {
            return visit.fail(Failure::NotFound);
        }
        let Ok(Ok(_room)) = tokio::time::timeout(PATIENCE, self.room.acquire()).await else {
            return visit.fail(Failure::Busy);
        };
        if entry.method == Method::POST
            && let Err(failure) = read_body(&mut visit, &parts.headers, body).await
        {
            return visit.fail(failure);
        }
        let response = match (entry.run)(&visit).await {
            Ok(response) => response,
            Err(failure) => visit.fail(failure),
        };
        if entry.method == Method::POST && entry.needs.is_some() {
            self.shared.overview.forget().await;
            self.shared.signals.tell();
        }
        visit.finish(response)
    }
}

async fn read_body(
    visit: &mut Visit,
    headers: &axum::http::HeaderMap,
    body: Body,
) -> Result<(), Failure> {
    let bytes = to_bytes(body, BODY_BYTES).await.map_err(|_| Failure::TooLarge)?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    let kind = kind.split(';').next().unwrap_or("").trim();
    visit.read(kind, &bytes)
}

/// What is not in the table, seen by whoever: the answer is the same as for what they may not see.
pub(crate) async fn nothing(State(gate): State<Arc<Gate>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    match gate.shared.access(&parts).await {
        Ok(access) => Visit::of_nothing(&gate.shared, access, &parts).fail(Failure::NotFound),
        Err(response) => response,
    }
}

/// What another site made a visitor's browser ask for.
pub(crate) fn cross_site(_: ProtectionError) -> Response {
    let text = "This request came from another site, so it was refused. If you sent it from the \
                dashboard itself, a proxy changes its Host or Origin header.\n";
    (StatusCode::FORBIDDEN, text).into_response()
}

/// Sets the headers that every answer has, and compresses what may be.
pub(crate) async fn headers(request: Request, next: Next) -> Response {
    let compressed = compressed::may_be(request.headers());
    let mut response = next.run(request).await;
    if compressed {
        response = compressed::compress(response).await;
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
