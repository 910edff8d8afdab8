//! A document is split into pages, read page by page and merged: `cargo run --example document`

use std::sync::Arc;

use anyhow::Context;
use jobkit::enqueue::wait::End;
use jobkit::{Batch, Enqueue, Job, JobContext, Worker, job};
use jobkit_webhooks::Event;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use tokio::sync::Notify;

type Cx = JobContext<(PgPool, Arc<Notify>)>;

#[derive(Serialize, Deserialize)]
#[job(queue = "documents")]
struct Split {
    tenant: String,
    pages: u32,
}

/// Reads a page, one of a tenant at a time. What it returns is kept until the merge.
#[derive(Serialize, Deserialize)]
#[job(queue = "pages", result = String, retention = "1d", concurrency_key = self.tenant)]
struct ReadPage {
    tenant: String,
    page: u32,
}

#[derive(Serialize, Deserialize)]
#[job(queue = "documents")]
struct Merge;

impl Job<(PgPool, Arc<Notify>)> for Split {
    async fn run(self, cx: Cx) -> jobkit::Result {
        let pages = (1..=self.pages).map(|page| ReadPage { tenant: self.tenant.clone(), page });
        let mut tx = cx.state().0.begin().await?;
        Batch::of(pages).then_if_all(Merge).enqueue(&mut tx).await?;
        cx.complete_in(&mut tx).await?; // so a second attempt makes no second batch
        tx.commit().await?;
        Ok(())
    }
}

impl Job<(PgPool, Arc<Notify>)> for ReadPage {
    async fn run(self, _cx: Cx) -> jobkit::Result<String> {
        Ok(format!("text of page {}", self.page))
    }
}

impl Job<(PgPool, Arc<Notify>)> for Merge {
    async fn run(self, cx: Cx) -> jobkit::Result {
        let batch = cx.batch_end().await?.ok_or("this job is the callback of a batch")?;
        let mut text = Vec::new();
        for (_, end) in cx.batch_members(batch.id, None, 10_000).await? {
            let End::Finished(page) = end else { continue };
            text.push(page.read::<String>()?);
        }
        println!("{} of {} pages, the last: {:?}", text.len(), batch.members, text.last());
        Event::new("document.merged", &batch.id)?.to("customer").enqueue(&cx.state().0).await?;
        cx.state().1.notify_one();
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    let merged = Arc::new(Notify::new());
    let worker = Worker::new(pool.clone()).state((pool.clone(), Arc::clone(&merged)));
    let worker = worker.only::<(Split, ReadPage, Merge)>().queue("documents", 2);
    let worker = worker.queue("pages", 20).start().await?;
    Split { tenant: "acme".to_owned(), pages: 200 }.enqueue(&pool).await?;
    merged.notified().await;
    worker.stop().await;
    Ok(())
}
