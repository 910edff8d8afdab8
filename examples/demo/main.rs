//! A shop with lively jobs, and the dashboard to look at them: `cargo run --example demo`
//!
//! One process runs the jobs and serves the dashboard. Ctrl-C and SIGTERM end both in order:
//! requests under way are answered, jobs under way end or go back, and what is left waits for the
//! next start. However long it runs, neither the queue nor its history grows without end.

mod jobs;
mod shop;

use std::io;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use jobkit::report::AttemptLog;
use jobkit::{Admin, Worker};
use jobkit_admin::Dashboard;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::prelude::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Jobs fail here all the time, and workers warn of it; the dashboard says so, too.
const LOGGED: &str = "warn,jobkit::worker=error";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let logged = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(LOGGED));
    let printed = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_filter(logged);
    tracing_subscriber::registry().with(printed).with(AttemptLog::new()).init();
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;

    let admin = Admin::new(&pool);
    let worker = Worker::new(pool.clone()).name("demo").queue("mail", 4).queue("images", 2);
    let worker = worker.queue("sync", 6).queue("billing", 2).queue("reports", 1);
    let worker = worker.queue("warehouse", 2).stop_grace(Duration::from_secs(2));
    let worker = worker.keep_measures(7 * DAY).keep_audit(7 * DAY).keep_resolved(DAY);
    let worker = worker.start().await?;

    // Everybody on this machine may do everything. A real application says who may do what, with
    // `.access(..)`.
    let jobs = Dashboard::new(admin.clone()).instance("demo").allow_unauthenticated();
    let jobs = jobs.stop_with(worker.stopping()).into_router();
    let app = Router::new().route("/", get(Redirect::temporary("/jobs")));
    let app = app.nest_service("/jobs", jobs);
    let listener = listen().await?;
    println!("The dashboard is at http://{}/jobs", listener.local_addr()?);
    let server = axum::serve(listener, app).with_graceful_shutdown(worker.stopping());
    let (keeper, stopping) = (admin.acting_as("demo"), worker.stopping());
    let shop = async {
        tokio::select! {
            () = shop::open(&pool, &keeper) => {}
            () = stopping => {}
        }
        Ok(())
    };
    tokio::try_join!(server.into_future(), worker.run_until_signal(), shop)?;
    println!("stopped");
    Ok(())
}

/// The port in `PORT`, or 3000; any free one when that is taken. Nobody else's machine reaches it.
async fn listen() -> io::Result<TcpListener> {
    let port = std::env::var("PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(3000);
    match TcpListener::bind(("127.0.0.1", port)).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            TcpListener::bind(("127.0.0.1", 0)).await
        }
        bound => bound,
    }
}
