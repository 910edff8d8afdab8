//! The dashboard in front of millions of rows: what a visitor waits for while workers run.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use jobkit::enqueue::EnqueueError;
use jobkit::{Admin, Job, JobContext, Worker, job};
use jobkit_admin::Dashboard;
use jobkit_tests::{Crowd, Page, Watch};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use tokio::time::sleep;
use tower::ServiceExt;

const VISITS: usize = 50;

/// One of the jobs that are there already.
#[derive(Serialize, Deserialize)]
#[job(kind = "kind_0", queue = "queue_0")]
struct Step {
    order_id: u64,
}

impl Job for Step {
    async fn run(self, _: JobContext) -> jobkit::Result {
        sleep(Duration::from_millis(50)).await;
        Ok(())
    }
}

/// Visits every page, 50 times, with so many finished jobs, a tenth as many ready ones, a
/// twentieth blocked and a fortieth dead.
pub(crate) async fn measure(pool: &PgPool, url: &str, finished: usize) -> Result<()> {
    let finished = u32::try_from(finished)?;
    let (ready, blocked, dead) = (finished / 10, finished / 20, finished / 40);
    let began = Instant::now();
    Crowd { finished, ready, blocked, dead }.fill(pool).await?;
    let size: i64 =
        sqlx::query_scalar("select pg_database_size(current_database())").fetch_one(pool).await?;
    println!("filled in {:.0} s, {} MB", began.elapsed().as_secs_f64(), size >> 20);
    let pages = Crowd::pages(pool).await?;
    let costs = costs(url, &pages).await?;

    let worker = Worker::new(pool.clone()).queue("queue_0", 10).start().await?;
    let producer = tokio::spawn(produce(pool.clone()));
    let app = dashboard(pool);
    println!("{:>9} {:>9} {:>10} {:>10}  page", "p50 ms", "p95 ms", "statements", "rows read");
    for (page, (statements, rows)) in pages.iter().zip(costs) {
        let mut times = Vec::with_capacity(VISITS);
        for _ in 0..VISITS {
            times.push(visit(&app, &page.path).await?.as_secs_f64() * 1000.0);
        }
        times.sort_by(f64::total_cmp);
        let (p50, p95) = (times[VISITS / 2], times[VISITS * 95 / 100]);
        let slow = if p95 > 200.0 { "  SLOW" } else { "" };
        println!("{p50:>9.1} {p95:>9.1} {statements:>10} {rows:>10}  {}{slow}", page.path);
    }
    producer.abort();
    worker.stop().await;
    Ok(())
}

fn dashboard(pool: &PgPool) -> Router {
    Dashboard::new(Admin::new(pool)).allow_unauthenticated().into_router()
}

/// Statements and rows read for each page, while nothing else happens.
async fn costs(url: &str, pages: &[Page]) -> Result<Vec<(usize, u64)>> {
    let mut costs = vec![(0, 0); pages.len()];
    for nested in [false, true] {
        let watch = Watch::new(url, nested).await?;
        for (cost, page) in costs.iter_mut().zip(pages) {
            watch.take();
            visit(&dashboard(watch.pool()), &page.path).await?;
            let seen = watch.take();
            *cost = if nested { (cost.0, seen.rows) } else { (seen.statements, 0) };
        }
    }
    Ok(costs)
}

/// How long an answer takes, to its last byte.
async fn visit(app: &Router, path: &str) -> Result<Duration> {
    let began = Instant::now();
    let request = Request::get(path).header("host", "localhost").body(Body::empty())?;
    let answer = app.clone().oneshot(request).await?;
    let status = answer.status();
    let body =
        to_bytes(answer.into_body(), 1 << 24).await.context("an answer of 16 MiB at most")?;
    ensure!(status == 200, "{path}: {status}: {}", String::from_utf8_lossy(&body));
    Ok(began.elapsed())
}

/// Enqueues about as many as the worker ends.
async fn produce(pool: PgPool) -> Result<(), EnqueueError> {
    for order_id in 0.. {
        jobkit::enqueue_all((0..20).map(|_| Step { order_id }), &pool).await?;
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
