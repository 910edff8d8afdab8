//! A template as an answer.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};

use crate::format::invisible;

/// A template as an answer.
pub(crate) fn html(template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => Html(invisible::named_in(text)).into_response(),
        Err(error) => {
            tracing::error!(%error, "jobkit.dashboard: a template failed");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
