//! A web application with workers and the dashboard: `cargo run --example dashboard`
//!
//! Its jobs succeed, fail, wait for each other and die, so that every page has something to show.
//! Open the address it prints. Ctrl-C ends it.

use std::time::Duration;

use axum::response::Html;
use axum::routing::get;
use axum::{Router, serve};
use jobkit::{Admin, Enqueue, Job, JobContext, JobError, Worker, job};
use jobkit_admin::Dashboard;
use private_postgres::Purpose;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tracing_subscriber::filter::LevelFilter;

/// Mails a receipt; the relay refuses some of them.
#[derive(Serialize, Deserialize)]
#[job(queue = "mail", max_attempts = 2, backoff = fixed("1s"))]
struct SendReceipt {
    order_id: i64,
    to: String,
}

impl Job for SendReceipt {
    async fn run(self, _: JobContext) -> jobkit::Result {
        sleep(Duration::from_millis(fastrand::u64(20..400))).await;
        match self.order_id % 23 {
            7 => Err(format!("550 5.1.1 <{}>: recipient rejected", self.to).into()),
            11 => Err(format!("relay timed out after 30 s for order {}", self.order_id).into()),
            _ => Ok(()),
        }
    }
}

/// Brings an account up to date; one at a time for each account.
#[derive(Serialize, Deserialize)]
#[job(queue = "sync", concurrency_key = self.account, concurrency_limit = 1)]
struct SyncAccount {
    account: String,
    page: u32,
}

impl Job for SyncAccount {
    async fn run(self, _: JobContext) -> jobkit::Result {
        sleep(Duration::from_millis(fastrand::u64(500..4000))).await;
        Ok(())
    }
}

/// Charges a card. A failure is one dead letter for the account, however often it happens.
#[derive(Serialize, Deserialize)]
#[job(queue = "billing", max_attempts = 1, dead_letter_key = self.account)]
struct ChargeCard {
    account: String,
    cents: i64,
}

impl Job for ChargeCard {
    async fn run(self, _: JobContext) -> jobkit::Result {
        sleep(Duration::from_millis(fastrand::u64(100..900))).await;
        match self.cents % 9 {
            0 => Err(JobError::dead(format!("the card of {} has expired", self.account))),
            _ => Ok(()),
        }
    }
}

/// Builds a report, which takes a while.
#[derive(Serialize, Deserialize)]
#[job(queue = "reports", max_attempts = 3)]
struct BuildReport {
    month: String,
}

impl Job for BuildReport {
    async fn run(self, _: JobContext) -> jobkit::Result {
        sleep(Duration::from_secs(fastrand::u64(5..20))).await;
        Ok(())
    }
}

/// Enqueues some of everything, again and again.
async fn keep_enqueueing(pool: PgPool) -> Result<(), jobkit::Error> {
    const ACCOUNTS: [&str; 8] =
        ["acme", "globex", "initech", "umbrella", "hooli", "stark", "wayne", "soylent"];
    for order_id in 10_000.. {
        let account = |n: usize| ACCOUNTS[n % ACCOUNTS.len()].to_owned();
        let to = format!("customer-{order_id}@example.com");
        SendReceipt { order_id, to }.enqueue(&pool).await?;
        // One account gets more than its share.
        let busy = if fastrand::bool() { 0 } else { fastrand::usize(..8) };
        SyncAccount { account: account(busy), page: fastrand::u32(1..90) }.enqueue(&pool).await?;
        if order_id % 3 == 0 {
            let cents = fastrand::i64(100..20_000);
            ChargeCard { account: account(fastrand::usize(..8)), cents }.enqueue(&pool).await?;
        }
        if order_id % 40 == 0 {
            let report = BuildReport { month: format!("2026-{:02}", fastrand::u32(1..=12)) };
            report
                .options()
                .after(Duration::from_secs(fastrand::u64(0..300)))
                .enqueue(&pool)
                .await?;
        }
        sleep(Duration::from_millis(300)).await;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_max_level(LevelFilter::INFO).init();
    let url = private_postgres::url(Purpose::Demo)?;
    let pool = PgPool::connect(&url).await?;
    jobkit::migrate(&pool).await?;

    let worker = Worker::new(pool.clone()).queue("mail", 4).queue("sync", 6);
    let worker = worker.queue("billing", 2).queue("reports", 1).start().await?;
    let producer = tokio::spawn(keep_enqueueing(pool));

    // The dashboard has connections of its own. A real application says `.access(..)`.
    let admin = Admin::new(&PgPoolOptions::new().max_connections(4).connect(&url).await?);
    let jobs = Dashboard::new(admin).instance("demo").allow_unauthenticated().into_router();
    let home = Html("<p>The application. Its jobs are at <a href=\"/jobs\">/jobs</a>.");
    let app = Router::new().route("/", get(home)).nest_service("/jobs", jobs);

    let port = std::env::var("PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(3000);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}/jobs", listener.local_addr()?);
    let ctrl_c = async { tokio::signal::ctrl_c().await.unwrap_or_default() };
    serve(listener, app).with_graceful_shutdown(ctrl_c).await?;
    producer.abort();
    worker.stop().await;
    Ok(())
}
