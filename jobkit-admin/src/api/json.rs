//! Bodies of the API.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::failure::Failure;
use crate::format::json;

pub(super) fn answer(value: impl ToString) -> Response {
    ([(CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

/// Success, with nothing to report.
pub(super) fn done() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// The body of a request. No body counts as an empty object.
pub(super) fn body<T: DeserializeOwned>(context: &Context) -> Result<T, Failure> {
    let bytes = if context.request.body().is_empty() { b"{}" } else { context.request.body() };
    json::read(bytes).map_err(|error| Failure::Invalid(format!("{error}.")))
}
