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
use crate::compression;
use crate::context::Context;
use crate::endpoint::Endpoint;
use crate::failure::Failure;
use crate::render;
use crate::shared::Shared;

/// Requests that one dashboard serves at a time; others wait for up to two seconds.
pub const REQUESTS: usize = 8;

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

pub(crate) struct Guard {
    shared: Arc<Shared>,
    room: Semaphore,
}

impl Guard {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, room: Semaphore::new(REQUESTS) }
    }

    /// Serves a request that a route of the table matches.
    pub(crate) async fn pass(
        &self,
        endpoint: &Endpoint,
        params: &RawPathParams,
        request: Request,
    ) -> Response {
        let (parts, body) = request.into_parts();
        let access = match endpoint.needs {
            None => Access::new("", Permissions::none()),
            Some(_) => match self.shared.access(&parts).await {
                Ok(access) => access,
                Err(response) => return response,
            },
        };
        let mut context = Context::new(&self.shared, access, &parts, params);
        let allowed = endpoint.needs.is_none_or(|permission| context.may(permission));
        if !allowed {
            return render::failure(&context, &Failure::NotFound);
        }
        let Ok(Ok(_room)) = tokio::time::timeout(PATIENCE, self.room.acquire()).await else {
            return render::failure(&context, &Failure::Busy);
        };
        if endpoint.method == Method::POST
            && let Err(failure) = read_body(&mut context, &parts.headers, body).await
        {
            return render::failure(&context, &failure);
        }
        let response = match (endpoint.run)(&context).await {
            Ok(response) => response,
            Err(failure) => render::failure(&context, &failure),
        };
        if endpoint.method == Method::POST && endpoint.needs.is_some() {
            self.shared.overview.forget().await;
            self.shared.signals.tell();
        }
        context.finish(response)
    }
}

async fn read_body(
    context: &mut Context,
    headers: &axum::http::HeaderMap,
    body: Body,
) -> Result<(), Failure> {
    let bytes = to_bytes(body, BODY_BYTES).await.map_err(|_| Failure::TooLarge)?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    let kind = kind.split(';').next().unwrap_or("").trim();
    context.read(kind, &bytes)
}

/// What is not in the table, seen by whoever: the answer is the same as for what they may not see.
pub(crate) async fn nothing(State(guard): State<Arc<Guard>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    match guard.shared.access(&parts).await {
        Ok(access) => {
            let context = Context::of_nothing(&guard.shared, access, &parts);
            render::failure(&context, &Failure::NotFound)
        }
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
    let compressed = compression::may_be(request.headers());
    let mut response = next.run(request).await;
    if compressed {
        response = compression::compress(response).await;
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
