//! The table of all routes, each with its permission.

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::http::Method;
use axum::middleware::from_fn;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use tower_http::csrf::CsrfLayer;

use crate::access::Permission::{self, *};
use crate::endpoint::{Endpoint, endpoints};
use crate::guard::{self, Guard};
use crate::shared::Shared;
use crate::{api, assets, events, metrics, pages};

const TABLE: &[Endpoint] = endpoints! {
    GET "/healthz" None => metrics::healthy;
    GET "/readyz" None => metrics::ready;
    GET "/assets/{file}" None => assets::file;

    GET "/" Some(View) => pages::overview::show;
    POST "/attention/acknowledge" Some(Acknowledge) => pages::attention::acknowledge;
    POST "/attention/unacknowledge" Some(Acknowledge) => pages::attention::unacknowledge;
    GET "/jobs" Some(View) => pages::jobs::list;
    GET "/jobs/{id}" Some(View) => pages::job::show;
    POST "/jobs/{id}/cancel" Some(Cancel) => pages::job::cancel;
    POST "/jobs/{id}/discard" Some(Discard) => pages::job::discard;
    POST "/jobs/{id}/reschedule" Some(Reschedule) => pages::job::reschedule;
    GET "/batches" Some(View) => pages::batches::list;
    GET "/batches/{id}" Some(View) => pages::batches::show;
    POST "/batches/{id}/cancel" Some(Bulk) => pages::batches::cancel;
    GET "/queues" Some(View) => pages::queues::list;
    GET "/queues/queue" Some(View) => pages::measured::queue;
    GET "/limits" Some(View) => pages::limits::list;
    POST "/limits/set" Some(Limit) => pages::limits::set;
    POST "/limits/pause" Some(Pause) => pages::limits::pause;
    POST "/limits/resume" Some(Pause) => pages::limits::resume;
    GET "/schedules" Some(View) => pages::schedules::list;
    GET "/schedules/schedule" Some(View) => pages::schedules::show;
    GET "/schedules/new" Some(Schedule) => pages::schedule_form::new;
    POST "/schedules/create" Some(Schedule) => pages::schedule_form::create;
    GET "/schedules/change" Some(Schedule) => pages::schedule_form::change;
    POST "/schedules/edit" Some(Schedule) => pages::schedule_form::edit;
    POST "/schedules/pause" Some(Pause) => pages::schedules::pause;
    POST "/schedules/resume" Some(Pause) => pages::schedules::resume;
    POST "/schedules/run" Some(Schedule) => pages::schedules::run;
    POST "/schedules/delete" Some(Schedule) => pages::schedules::delete;
    GET "/kinds" Some(View) => pages::kinds::list;
    GET "/kinds/kind" Some(View) => pages::measured::kind;
    GET "/topics" Some(View) => pages::topics::list;
    GET "/workers" Some(View) => pages::workers::list;
    GET "/workers/{id}" Some(View) => pages::workers::show;
    POST "/workers/{id}/stop" Some(StopWorker) => pages::workers::stop;
    GET "/concurrency" Some(View) => pages::concurrency::list;
    GET "/concurrency/key" Some(View) => pages::semaphore::show;
    GET "/dead" Some(View) => pages::dead_groups::show;
    POST "/dead/note" Some(Note) => pages::dead_groups::note;
    POST "/dead/mute" Some(Note) => pages::dead_groups::mute;
    POST "/dead/unmute" Some(Note) => pages::dead_groups::unmute;
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
    POST "/theme" Some(View) => pages::preferences::choose_theme;
    POST "/refresh" Some(View) => pages::preferences::choose_refresh;
    GET "/events" Some(View) => events::stream;

    GET "/metrics" Some(Metrics) => metrics::text;

    GET "/api/v1/overview" Some(View) => api::read::overview;
    POST "/api/v1/attention/acknowledge" Some(Acknowledge) => api::attention::acknowledge;
    POST "/api/v1/attention/unacknowledge" Some(Acknowledge) => api::attention::unacknowledge;
    GET "/api/v1/queues" Some(View) => api::read::queues;
    GET "/api/v1/limits" Some(View) => api::limits::list;
    POST "/api/v1/limits/set" Some(Limit) => api::limits::set;
    POST "/api/v1/limits/pause" Some(Pause) => api::limits::pause;
    POST "/api/v1/limits/resume" Some(Pause) => api::limits::resume;
    GET "/api/v1/schedules" Some(View) => api::schedules::list;
    GET "/api/v1/schedules/schedule" Some(View) => api::schedules::show;
    GET "/api/v1/schedules/runs" Some(View) => api::schedules::runs;
    POST "/api/v1/schedules/create" Some(Schedule) => api::schedules::create;
    POST "/api/v1/schedules/edit" Some(Schedule) => api::schedules::edit;
    POST "/api/v1/schedules/pause" Some(Pause) => api::schedules::pause;
    POST "/api/v1/schedules/resume" Some(Pause) => api::schedules::resume;
    POST "/api/v1/schedules/run" Some(Schedule) => api::schedules::run;
    POST "/api/v1/schedules/delete" Some(Schedule) => api::schedules::delete;
    GET "/api/v1/kinds" Some(View) => api::read::kinds;
    GET "/api/v1/workers" Some(View) => api::read::workers;
    GET "/api/v1/semaphores" Some(View) => api::read::semaphores;
    GET "/api/v1/jobs" Some(View) => api::read::jobs;
    POST "/api/v1/jobs" Some(Enqueue) => api::enqueue::enqueue;
    GET "/api/v1/topics" Some(View) => api::topics::list;
    POST "/api/v1/topics/publish" Some(Enqueue) => api::topics::publish;
    POST "/api/v1/topics/unsubscribe" Some(Enqueue) => api::topics::unsubscribe;
    GET "/api/v1/batches" Some(View) => api::batches::list;
    GET "/api/v1/batches/{id}" Some(View) => api::batches::show;
    GET "/api/v1/batches/{id}/members" Some(View) => api::batches::members;
    POST "/api/v1/batches/{id}/cancel" Some(Bulk) => api::batches::cancel;
    GET "/api/v1/operations" Some(View) => api::operations::list;
    POST "/api/v1/operations" Some(Bulk) => api::operations::begin;
    POST "/api/v1/operations/preview" Some(Bulk) => api::operations::preview;
    GET "/api/v1/operations/{id}" Some(View) => api::operations::show;
    GET "/api/v1/operations/{id}/results" Some(View) => api::operations::results;
    POST "/api/v1/operations/{id}/cancel" Some(Bulk) => api::operations::cancel;
    GET "/api/v1/jobs/{id}" Some(View) => api::read::job;
    POST "/api/v1/jobs/{id}/cancel" Some(Cancel) => api::act::cancel;
    POST "/api/v1/jobs/{id}/discard" Some(Discard) => api::act::discard;
    POST "/api/v1/jobs/{id}/reschedule" Some(Reschedule) => api::act::reschedule;
    GET "/api/v1/dead-letters" Some(View) => api::read::dead_letters;
    GET "/api/v1/dead-letters/groups" Some(View) => api::read::dead_letter_groups;
    POST "/api/v1/dead-letters/groups/note" Some(Note) => api::act::note_cause;
    POST "/api/v1/dead-letters/groups/mute" Some(Note) => api::act::mute_cause;
    GET "/api/v1/dead-letters/{id}" Some(View) => api::read::dead_letter;
    POST "/api/v1/dead-letters/{id}/replay" Some(Replay) => api::act::replay;
    POST "/api/v1/dead-letters/{id}/edit" Some(EditReplay) => api::act::edit_and_replay;
    POST "/api/v1/dead-letters/{id}/discard" Some(Discard) => api::act::discard_dead_letter;
    GET "/api/v1/audit" Some(Audit) => api::read::audit;
};

/// A route of the dashboard, for documentation and tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The path below the mount, with its parameters in braces.
    pub path: &'static str,
    /// The permission a visitor needs to see that the route exists; `None` if it is open to
    /// everyone.
    pub permission: Option<Permission>,
}

/// All routes that are served.
pub fn routes() -> impl Iterator<Item = Route> {
    TABLE.iter().map(|endpoint| Route {
        method: if endpoint.method == Method::POST { "POST" } else { "GET" },
        path: endpoint.path,
        permission: endpoint.needs,
    })
}

pub(crate) fn router(shared: Shared) -> Router {
    let guard = Arc::new(Guard::new(Arc::new(shared)));
    let mut router = Router::new();
    for endpoint in TABLE {
        router = router.route(endpoint.path, served(endpoint));
    }
    router
        .fallback(guard::nothing)
        .method_not_allowed_fallback(guard::nothing)
        .layer(CsrfLayer::new().with_rejection_response(guard::cross_site))
        .layer(from_fn(guard::headers))
        .with_state(guard)
}

/// An endpoint as an axum route.
fn served(endpoint: &'static Endpoint) -> MethodRouter<Arc<Guard>> {
    let posts = endpoint.method == Method::POST;
    let filter = if posts { MethodFilter::POST } else { MethodFilter::GET };
    on(filter, move |State(guard): State<Arc<Guard>>, params: RawPathParams, request: Request| {
        pass(guard, endpoint, params, request)
    })
}

async fn pass(
    guard: Arc<Guard>,
    endpoint: &'static Endpoint,
    params: RawPathParams,
    request: Request,
) -> Response {
    guard.pass(endpoint, &params, request).await
}
