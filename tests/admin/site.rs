//! A dashboard, and somebody who visits it.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use jobkit::Admin;
use jobkit_admin::{Access, Dashboard, Permissions};
use jobkit_tests::Lab;
use tower::ServiceExt;

/// Who visits, unless a test says otherwise.
pub(crate) const VISITOR: &str = "alice";

/// The dashboard of a lab, at the root.
pub(crate) fn dashboard(lab: &Lab, permissions: Permissions) -> Router {
    dashboard_of(Admin::new(lab.pool()), permissions).into_router()
}

pub(crate) fn dashboard_of(
    admin: Admin,
    permissions: Permissions,
) -> Dashboard<jobkit_admin::Decided> {
    Dashboard::new(admin)
        .access(move |_| async move { Ok::<_, StatusCode>(Access::new(VISITOR, permissions)) })
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// Asks, with what headers a test likes.
pub(crate) async fn ask(
    app: &Router,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<String>,
) -> Reply {
    let mut request = Request::builder().method(method).uri(path).header("host", "jobs.test");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body.into())).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let stream = parts.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
    let bytes = if stream { Vec::new() } else { to_bytes(body, 1 << 24).await.unwrap().to_vec() };
    let body = String::from_utf8_lossy(&bytes).into_owned();
    Reply { status: parts.status, headers: parts.headers, body }
}

pub(crate) async fn get(app: &Router, path: &str) -> Reply {
    ask(app, "GET", path, &[], "").await
}

/// Sends a form, as a browser does.
pub(crate) async fn post(app: &Router, path: &str, form: &str) -> Reply {
    post_with(app, path, &[], form).await
}

/// Posts a form with more headers.
pub(crate) async fn post_with(
    app: &Router,
    path: &str,
    headers: &[(&str, &str)],
    form: &str,
) -> Reply {
    let posted =
        [("content-type", "application/x-www-form-urlencoded"), ("sec-fetch-site", "same-origin")];
    ask(app, "POST", path, &[headers, &posted].concat(), form).await
}

/// Sends JSON, as a program does.
pub(crate) async fn send(app: &Router, path: &str, body: &str) -> Reply {
    ask(app, "POST", path, &[("content-type", "application/json")], body).await
}

/// A path of the table, with something in its braces.
pub(crate) fn filled(path: &str, id: &str) -> String {
    path.replace("{id}", id).replace("{file}", "no-such-file")
}
