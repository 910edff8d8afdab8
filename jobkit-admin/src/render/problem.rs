//! Failures, as a page, as a fragment, and as a problem document.

use askama::Template;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::frame::Frame;
use super::template::html;
use crate::context::{Context, Wants};
use crate::failure::Failure;

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

/// The answer to a request that failed.
pub(crate) fn failure(context: &Context, failure: &Failure) -> Response {
    let (status, title, text) = (failure.status(), failure.title(), failure.text());
    match context.wants {
        Wants::Data => problem(status, title, &text),
        // A missing page looks the same everywhere.
        Wants::Text if !matches!(failure, Failure::NotFound) => {
            (status, format!("{title}. {text}\n")).into_response()
        }
        Wants::Fragment => {
            let banner = Banner { title, text: &text };
            let mut response = (status, html(&banner)).into_response();
            // The page stays, with a banner that it may be stale.
            for (name, value) in [("hx-retarget", "#banner"), ("hx-reswap", "innerHTML")] {
                let name = HeaderName::from_static(name);
                response.headers_mut().insert(name, HeaderValue::from_static(value));
            }
            response
        }
        Wants::Page | Wants::Text => {
            let page = FailurePage { frame: Frame::nowhere(context, title), title, text: &text };
            (status, html(&page)).into_response()
        }
    }
}

/// A problem document (RFC 9457).
fn problem(status: StatusCode, title: &str, detail: &str) -> Response {
    let body = json!({"type": "about:blank", "title": title, "status": status.as_u16(),
        "detail": detail});
    (status, [(CONTENT_TYPE, "application/problem+json")], body.to_string()).into_response()
}
