//! The checks of every request: who sent it, are they allowed, and is there capacity.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::{Semaphore, SemaphorePermit};
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

/// How long a request waits for a free slot.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a body may take to arrive. A request does not occupy a slot meanwhile.
const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// Bodies up to this size are always read; of larger ones, this many at a time, to bound memory.
const SMALL_BODY: u64 = 64 << 10;
const LARGE_BODIES: usize = 8;

/// Slots for unauthenticated requests that use the database.
const PROBES: usize = 2;

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
    (header::VARY, "accept, accept-encoding, cookie, hx-request"),
];

pub(crate) struct Guard {
    shared: Arc<Shared>,
    room: Semaphore,
    probes: Semaphore,
    bodies: Semaphore,
}

impl Guard {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let (room, probes) = (Semaphore::new(REQUESTS), Semaphore::new(PROBES));
        Self { shared, room, probes, bodies: Semaphore::new(LARGE_BODIES) }
    }

    /// The semaphore that a request waits for; `None` if it does not use the database.
    fn turns(&self, endpoint: &Endpoint) -> Option<&Semaphore> {
        match endpoint.path {
            "/healthz" | "/assets/{file}" => None,
            _ if endpoint.needs.is_none() => Some(&self.probes),
            _ => Some(&self.room),
        }
    }

    /// Serves a request that matches a route of the table.
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
        // A sender may be slow, so the body is read before the request takes a slot.
        if endpoint.method == Method::POST
            && let Err(failure) = self.read_body(&mut context, &parts.headers, body).await
        {
            return render::failure(&context, &failure);
        }
        let _turn = match self.turns(endpoint) {
            None => None,
            Some(turns) => match turn_of(turns).await {
                Some(turn) => Some(turn),
                None => return render::failure(&context, &Failure::Busy),
            },
        };
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

    async fn read_body(
        &self,
        context: &mut Context,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<(), Failure> {
        let small = body.size_hint().upper().is_some_and(|size| size <= SMALL_BODY);
        let _place = match small {
            true => None,
            false => Some(turn_of(&self.bodies).await.ok_or(Failure::Busy)?),
        };
        let bytes = arrived(body, BODY_PATIENCE).await?;
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
        context.read(kind, &bytes)
    }
}

/// Reads the whole body within this time.
async fn arrived(body: Body, patience: Duration) -> Result<Bytes, Failure> {
    let read = tokio::time::timeout(patience, to_bytes(body, BODY_BYTES)).await;
    read.map_err(|_| Failure::Slow)?.map_err(|_| Failure::TooLarge)
}

async fn turn_of(turns: &Semaphore) -> Option<SemaphorePermit<'_>> {
    tokio::time::timeout(PATIENCE, turns.acquire()).await.ok()?.ok()
}

/// The answer to unknown paths. It is the same as for paths that the visitor may not see.
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

/// The answer to a request that another site made a browser send.
pub(crate) fn cross_site(_: ProtectionError) -> Response {
    let text = "This request came from another site, so it was refused. If you sent it from the \
                dashboard itself, a proxy has changed its Host or Origin header.\n";
    (StatusCode::FORBIDDEN, text).into_response()
}

/// Sets the common headers of all answers, and compresses answers where allowed.
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{StreamExt, stream};

    #[tokio::test]
    async fn a_body_is_read_for_so_long_however_often_a_byte_comes() {
        let bytes = stream::repeat(()).then(async |()| {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok::<_, std::io::Error>("a")
        });
        let patience = Duration::from_millis(50);
        assert!(matches!(arrived(Body::from_stream(bytes), patience).await, Err(Failure::Slow)));
        let large = vec![0; BODY_BYTES + 1];
        assert!(matches!(arrived(large.into(), patience).await, Err(Failure::TooLarge)));
        assert!(matches!(arrived("a=b".into(), patience).await, Ok(bytes) if bytes == "a=b"));
    }
}
