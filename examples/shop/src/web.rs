//! The web server: orders, health, and the dashboard for those who are signed in.

use std::future::Future;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use jobkit::Admin;
use jobkit_admin::{Access, Dashboard, Permission, Permissions, Redaction};
use sqlx::PgPool;

use crate::orders::{self, NewOrder};

/// The routes. `stop` ends the event streams of open dashboards, for which a graceful shutdown
/// would wait otherwise.
pub fn routes(pool: PgPool, stop: impl Future<Output = ()> + Send + 'static) -> Router {
    let sessions = pool.clone();
    let jobs = Dashboard::new(Admin::new(&pool)).instance("shop").stop_with(stop);
    let jobs = jobs.access(move |request| who(request, sessions.clone())).into_router();
    let routes = Router::new().route("/orders", post(place)).route("/healthz", get(health));
    routes.with_state(pool).nest_service("/jobs", jobs)
}

/// Who asks the dashboard, by the shop's own sessions: asked about every request, so that somebody
/// who is signed out here is out there at once.
///
/// Support sees that things fail, developers what is in them and how to mend it, and one role may
/// do everything. What a role may not see looks as if it were not there.
async fn who(request: Parts, pool: PgPool) -> Result<Access, StatusCode> {
    let token = request.headers.get("x-session").and_then(|token| token.to_str().ok());
    let token = token.ok_or(StatusCode::UNAUTHORIZED)?;
    let find = sqlx::query_as("select name, role from sessions where token = $1").bind(token);
    // A database that does not answer lets nobody in.
    let found = find.fetch_optional(&pool).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
    let (name, role): (String, String) = found.ok_or(StatusCode::UNAUTHORIZED)?;
    let access = match role.as_str() {
        "support" => Access::new(name, Permissions::viewer()),
        "developer" => Access::new(name, Permissions::operator().without(Permission::StopWorker)),
        "owner" => Access::new(name, Permissions::admin()).redaction(Redaction::Nothing),
        _ => return Err(StatusCode::FORBIDDEN),
    };
    Ok(access)
}

async fn place(State(pool): State<PgPool>, Json(order): Json<NewOrder>) -> Response {
    if order.cents <= 0 {
        return (StatusCode::UNPROCESSABLE_ENTITY, "an order costs something").into_response();
    }
    let placed = async {
        let mut tx = pool.begin().await?;
        let id = orders::place(order, &mut tx).await?;
        tx.commit().await?; // from here on there is an order, and its jobs
        anyhow::Ok(id)
    };
    match placed.await {
        Ok(id) => (StatusCode::CREATED, Json(id)).into_response(),
        Err(error) => {
            // The customer hears that it failed; the log hears why.
            tracing::error!(error = format!("{error:#}"), "an order failed");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Whether this process can serve: for the load balancer. It does not look at the jobs, which would
/// take web servers away because of somebody's slow endpoint; alerts are for that.
async fn health(State(pool): State<PgPool>) -> Result<&'static str, StatusCode> {
    let asked = sqlx::query("select 1").execute(&pool).await;
    asked.map(|_| "ok\n").map_err(|_| StatusCode::SERVICE_UNAVAILABLE)
}
