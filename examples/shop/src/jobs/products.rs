use std::collections::BTreeSet;

use jobkit::{Job, JobContext, JobError, job};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::Shop;

/// Takes over the supplier's list of stock, page by page, for as long as that takes.
///
/// One at a time: two imports would write over each other.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[job(queue = "bulk", concurrency_key = "all")]
pub struct ImportStock {
    /// The row in `imports` with the checkpoint. A column of ours rather than of the job's: it
    /// survives retries, replays and whatever else makes a new job of this one.
    pub import: i64,
}

impl Job<Shop> for ImportStock {
    async fn run(self, cx: JobContext<Shop>) -> jobkit::Result {
        let Shop { pool, partners } = cx.state();
        let find = sqlx::query_scalar("select next_page from imports where id = $1");
        let mut page: i32 = find.bind(self.import).fetch_one(pool).await?;
        loop {
            // Told when the worker is to stop, which is long before the process is killed. What is
            // given back charges no attempt, and another worker goes on at the checkpoint. Only the
            // request is raced: a page that has arrived is stored to the end.
            let stock = tokio::select! {
                stock = partners.stock(page) => stock,
                _reason = cx.stopping() => return Err(JobError::release()),
            };
            if stock.is_empty() {
                break;
            }
            page = store(self.import, page, stock, pool).await?;
        }
        let done = sqlx::query("update imports set done_at = now() where id = $1");
        done.bind(self.import).execute(pool).await?;
        Ok(())
    }
}

/// Stores a page and that it is stored, both or neither. Numbers are set rather than added to, so
/// that a page that comes twice does no harm.
async fn store(
    import: i64,
    page: i32,
    stock: Vec<(String, i32)>,
    pool: &PgPool,
) -> sqlx::Result<i32> {
    let (skus, counts): (Vec<String>, Vec<i32>) = stock.into_iter().unzip();
    let mut tx = pool.begin().await?;
    let upsert = "insert into products (sku, stock) select * from unnest($1::text[], $2::int[])
        on conflict (sku) do update set stock = excluded.stock";
    sqlx::query(upsert).bind(skus).bind(counts).execute(&mut *tx).await?;
    let checkpoint = "update imports set next_page = $2 + 1 where id = $1 returning next_page";
    let checkpoint = sqlx::query_scalar(checkpoint).bind(import).bind(page);
    let next = checkpoint.fetch_one(&mut *tx).await?;
    tx.commit().await?;
    Ok(next)
}

/// Brings the search index of a product up to date.
///
/// Its **dead-letter key** is the product: a newer run makes the older ones needless, so a product
/// that fails all day leaves one letter, and one replay mends it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[job(queue = "bulk", max_attempts = 3, dead_letter_key = self.sku, concurrency_key = self.sku)]
pub struct IndexProduct {
    pub sku: String,
}

impl Job<Shop> for IndexProduct {
    async fn run(self, cx: JobContext<Shop>) -> jobkit::Result {
        let pool = &cx.state().pool;
        let find = sqlx::query_scalar("select title from products where sku = $1");
        let Some(title): Option<String> = find.bind(&self.sku).fetch_optional(pool).await? else {
            return Err(JobError::discard("the product is gone"));
        };
        // Computing for long on a thread of the runtime holds up every other job on that thread.
        // On one of its own it holds up nobody, and the job is this attempt's until it is back.
        let words = cx.blocking(move |_| words(&title)).await;
        let store = sqlx::query("update products set words = $2 where sku = $1");
        store.bind(&self.sku).bind(words).execute(pool).await?;
        Ok(())
    }
}

/// The words of a title. Yours takes longer.
fn words(title: &str) -> Vec<String> {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
    let words: BTreeSet<String> = words.map(str::to_lowercase).collect();
    tracing::debug!(words = words.len(), "indexed");
    words.into_iter().collect()
}
