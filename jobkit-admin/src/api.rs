//! The same for programs: JSON below `/api/v1`. Ids are strings, since many programs take numbers
//! for floats; a page says under `next` where the next one is.

mod act;
mod operations;
mod read;
pub(crate) mod values;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use crate::access::Permission::*;
use crate::failure::Failure;
use crate::router::{Entry, table};
use crate::visit::Visit;

/// The routes of the API.
pub(crate) const TABLE: &[Entry] = table! {
    GET "/api/v1/overview" Some(View) => read::overview;
    GET "/api/v1/queues" Some(View) => read::queues;
    POST "/api/v1/queues/pause" Some(Pause) => act::pause;
    POST "/api/v1/queues/resume" Some(Pause) => act::resume;
    GET "/api/v1/kinds" Some(View) => read::kinds;
    GET "/api/v1/workers" Some(View) => read::workers;
    GET "/api/v1/groups" Some(View) => read::groups;
    POST "/api/v1/groups/limit" Some(Limit) => act::limit_group;
    GET "/api/v1/semaphores" Some(View) => read::semaphores;
    POST "/api/v1/semaphores/limit" Some(Limit) => act::limit_key;
    GET "/api/v1/jobs" Some(View) => read::jobs;
    GET "/api/v1/operations" Some(View) => operations::list;
    POST "/api/v1/operations" Some(Bulk) => operations::begin;
    POST "/api/v1/operations/preview" Some(Bulk) => operations::preview;
    GET "/api/v1/operations/{id}" Some(View) => operations::show;
    GET "/api/v1/operations/{id}/results" Some(View) => operations::results;
    POST "/api/v1/operations/{id}/cancel" Some(Bulk) => operations::cancel;
    GET "/api/v1/jobs/{id}" Some(View) => read::job;
    POST "/api/v1/jobs/{id}/cancel" Some(Cancel) => act::cancel;
    POST "/api/v1/jobs/{id}/discard" Some(Discard) => act::discard;
    POST "/api/v1/jobs/{id}/reschedule" Some(Reschedule) => act::reschedule;
    GET "/api/v1/dead-letters" Some(View) => read::dead_letters;
    GET "/api/v1/dead-letters/groups" Some(View) => read::dead_letter_groups;
    GET "/api/v1/dead-letters/{id}" Some(View) => read::dead_letter;
    POST "/api/v1/dead-letters/{id}/replay" Some(Replay) => act::replay;
    POST "/api/v1/dead-letters/{id}/edit" Some(EditReplay) => act::edit_and_replay;
    POST "/api/v1/dead-letters/{id}/discard" Some(Discard) => act::discard_dead_letter;
    GET "/api/v1/audit" Some(Audit) => read::audit;
};

fn answer(value: impl ToString) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// It is done, and there is nothing to say.
fn done() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// The body of a request. None at all is an empty object.
fn body<T: DeserializeOwned>(visit: &Visit) -> Result<T, Failure> {
    let bytes = if visit.body().is_empty() { b"{}" } else { visit.body() };
    serde_json::from_slice(bytes).map_err(|error| Failure::Invalid(format!("{error}.")))
}
