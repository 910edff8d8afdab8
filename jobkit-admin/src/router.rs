//! The routes: all of them, in one table, each with what it needs.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::http::Method;
use axum::middleware::from_fn;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use tower_http::csrf::CsrfLayer;

use crate::access::Permission::{self, *};
use crate::dashboard::Shared;
use crate::failure::Failure;
use crate::gate::Gate;
use crate::visit::Visit;
use crate::{api, assets, events, gate, metrics, pages};

/// What a handler makes of a visit.
pub(crate) type Answer = Result<Response, Failure>;
type Answering<'a> = Pin<Box<dyn Future<Output = Answer> + Send + 'a>>;

/// One row of the table.
pub(crate) struct Entry {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) needs: Option<Permission>,
    pub(crate) run: for<'a> fn(&'a Visit) -> Answering<'a>,
}

macro_rules! table {
    ($($method:ident $path:literal $needs:expr => $handler:path;)*) => {
        &[$($crate::router::Entry {
            method: axum::http::Method::$method,
            path: $path,
            needs: $needs,
            run: |visit| Box::pin($handler(visit)),
        },)*]
    };
}
pub(crate) use table;

const TABLE: &[Entry] = table! {
    GET "/healthz" None => metrics::healthy;
    GET "/readyz" None => metrics::ready;
    GET "/assets/{file}" None => assets::file;

    GET "/" Some(View) => pages::overview::show;
    GET "/jobs" Some(View) => pages::jobs::list;
    GET "/jobs/{id}" Some(View) => pages::job::show;
    POST "/jobs/{id}/cancel" Some(Cancel) => pages::job::cancel;
    POST "/jobs/{id}/discard" Some(Discard) => pages::job::discard;
    POST "/jobs/{id}/reschedule" Some(Reschedule) => pages::job::reschedule;
    GET "/queues" Some(View) => pages::queues::list;
    GET "/queues/queue" Some(View) => pages::measured::queue;
    POST "/queues/pause" Some(Pause) => pages::queues::pause;
    POST "/queues/resume" Some(Pause) => pages::queues::resume;
    GET "/kinds" Some(View) => pages::kinds::list;
    GET "/kinds/kind" Some(View) => pages::measured::kind;
    GET "/workers" Some(View) => pages::workers::list;
    GET "/workers/{id}" Some(View) => pages::workers::show;
    POST "/workers/{id}/stop" Some(StopWorker) => pages::workers::stop;
    GET "/concurrency" Some(View) => pages::concurrency::list;
    GET "/concurrency/key" Some(View) => pages::semaphore::show;
    POST "/concurrency/limit-group" Some(Limit) => pages::concurrency::limit_group;
    POST "/concurrency/limit-key" Some(Limit) => pages::semaphore::limit_key;
    GET "/dead" Some(View) => pages::dead_groups::show;
    GET "/dead/entries" Some(View) => pages::dead_letters::list;
    GET "/dead/export" Some(Export) => pages::dead_letters::export;
    GET "/dead/{id}" Some(View) => pages::dead_letter::show;
    POST "/dead/{id}/replay" Some(Replay) => pages::dead_letter::replay;
    POST "/dead/{id}/edit" Some(EditReplay) => pages::dead_letter::edit_and_replay;
    POST "/dead/{id}/discard" Some(Discard) => pages::dead_letter::discard;
    GET "/operations" Some(View) => pages::operations::list;
    GET "/operations/new" Some(Bulk) => pages::operations::new;
    POST "/operations/begin" Some(Bulk) => pages::operations::begin;
    GET "/operations/{id}" Some(View) => pages::operations::show;
    POST "/operations/{id}/cancel" Some(Bulk) => pages::operations::cancel;
    GET "/system" Some(View) => pages::system::show;
    GET "/audit" Some(Audit) => pages::audit::list;
    POST "/theme" Some(View) => pages::choices::choose_theme;
    POST "/refresh" Some(View) => pages::choices::choose_refresh;
    GET "/events" Some(View) => events::stream;

    GET "/metrics" Some(Metrics) => metrics::text;
};

/// A route of the dashboard, as documentation and tests see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The path below the mount, with its parameters in braces.
    pub path: &'static str,
    /// What a visitor must be permitted, lest the route look as if it were not there; `None` when
    /// nobody is asked.
    pub permission: Option<Permission>,
}

/// All routes there are. What is not in here is not served.
pub fn routes() -> impl Iterator<Item = Route> {
    entries().map(|entry| Route {
        method: if entry.method == Method::POST { "POST" } else { "GET" },
        path: entry.path,
        permission: entry.needs,
    })
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().chain(api::TABLE)
}

pub(crate) fn router(shared: Shared) -> Router {
    let gate = Arc::new(Gate::new(Arc::new(shared)));
    let mut router = Router::new();
    for entry in entries() {
        router = router.route(entry.path, served(entry));
    }
    router
        .fallback(gate::nothing)
        .method_not_allowed_fallback(gate::nothing)
        .layer(CsrfLayer::new().with_rejection_response(gate::cross_site))
        .layer(from_fn(gate::headers))
        .with_state(gate)
}

/// An entry as axum has it.
fn served(entry: &'static Entry) -> MethodRouter<Arc<Gate>> {
    let posts = entry.method == Method::POST;
    let filter = if posts { MethodFilter::POST } else { MethodFilter::GET };
    on(filter, move |State(gate): State<Arc<Gate>>, params: RawPathParams, request: Request| {
        pass(gate, entry, params, request)
    })
}

async fn pass(
    gate: Arc<Gate>,
    entry: &'static Entry,
    params: RawPathParams,
    request: Request,
) -> Response {
    gate.pass(entry, &params, request).await
}
