//! What cannot be done, as a page, as a fragment, and as a problem document.

use askama::Template;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use jobkit::Error;
use jobkit::admin::dead_letters::ReplayError;
use serde_json::json;

use crate::frame::Frame;
use crate::unseen;
use crate::visit::{Visit, Wants};

/// Why there is no other answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There is nothing, or nothing they may see.
    NotFound,
    /// What was asked for makes no sense.
    Invalid(String),
    /// It cannot be done any more, or not yet.
    Conflict(String),
    /// The body is too large.
    TooLarge,
    /// Too many requests at once.
    Busy,
    /// The queue said no.
    Failed(Error),
}

#[derive(Template)]
#[template(path = "failure.html")]
struct FailurePage<'a> {
    frame: Frame<'a>,
    title: &'a str,
    text: &'a str,
}

#[derive(Template)]
#[template(path = "banner.html")]
struct Banner<'a> {
    title: &'a str,
    text: &'a str,
}

impl Failure {
    fn status(&self) -> StatusCode {
        match self {
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Failed(error) => match error {
                Error::Length { .. } | Error::Nul { .. } | Error::Range { .. } => {
                    StatusCode::UNPROCESSABLE_ENTITY
                }
                Error::Busy | Error::Replaying => StatusCode::CONFLICT,
                _ => StatusCode::SERVICE_UNAVAILABLE,
            },
        }
    }

    fn title(&self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Invalid(_) => "That does not work",
            Self::Conflict(_) => "Not possible now",
            Self::TooLarge => "Too large",
            Self::Busy => "Too many requests",
            Self::Failed(error) => match error {
                Error::Unreachable(_) => "The database cannot be reached",
                Error::Deadline(_) => "The database is too slow",
                Error::SchemaMissing | Error::SchemaOlder { .. } | Error::SchemaNewer { .. } => {
                    "The schema does not fit"
                }
                Error::ReadOnly => "The database only reads",
                Error::Length { .. } | Error::Nul { .. } | Error::Range { .. } => {
                    "That does not work"
                }
                Error::Busy | Error::Replaying => "Not possible now",
                _ => "The database says no",
            },
        }
    }

    /// What to say. What the database says in detail goes to the log only: it may name hosts.
    fn text(&self) -> String {
        match self {
            Self::NotFound => "There is nothing here, or nothing that you may see.".into(),
            Self::Invalid(text) | Self::Conflict(text) => text.clone(),
            Self::TooLarge => "No more than a payload of 1 MiB is taken.".into(),
            Self::Busy => "Others are being served. Try again in a moment.".into(),
            Self::Failed(error @ (Error::Unreachable(_) | Error::Database(_))) => {
                tracing::warn!(%error, "jobkit.dashboard: no answer from the database");
                "Jobs are safe where they are. This page tries again by itself; the server's log \
                 has the details."
                    .into()
            }
            Self::Failed(error) => format!("{error}."),
        }
    }

    pub(crate) fn answer(&self, visit: &Visit) -> Response {
        let (status, title, text) = (self.status(), self.title(), self.text());
        match visit.wants {
            Wants::Data => problem(status, title, &text),
            Wants::Fragment => {
                let banner = Banner { title, text: &text };
                let mut response = (status, html(&banner)).into_response();
                // What is shown stays; the banner says that it may be old.
                for (name, value) in [("hx-retarget", "#banner"), ("hx-reswap", "innerHTML")] {
                    let name = HeaderName::from_static(name);
                    response.headers_mut().insert(name, HeaderValue::from_static(value));
                }
                response
            }
            Wants::Page => {
                let page = FailurePage { frame: visit.nowhere(title), title, text: &text };
                (status, html(&page)).into_response()
            }
        }
    }
}

/// A problem document (RFC 9457).
fn problem(status: StatusCode, title: &str, detail: &str) -> Response {
    let body = json!({"type": "about:blank", "title": title, "status": status.as_u16(),
        "detail": detail});
    (status, [(CONTENT_TYPE, "application/problem+json")], body.to_string()).into_response()
}

/// A template as an answer.
pub(crate) fn html(template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => Html(unseen::named_in(text)).into_response(),
        Err(error) => {
            tracing::error!(%error, "jobkit.dashboard: a template failed");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::NotFound => Self::NotFound,
            ReplayError::Failed(error) => Self::Failed(error),
            ReplayError::Undecodable(text) => Self::Invalid(text),
            other => Self::Conflict(format!("{other}.")),
        }
    }
}
