use std::collections::BTreeSet;

use jobkit::{Job, JobContext, JobError, job};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use crate::Shop;

/// Brings the search index of a product up to date.
///
/// Its **dead-letter key** is the product: a newer run makes the older ones needless, so a product
/// that fails all day leaves one letter, and one replay mends it.
#[derive(Debug, Serialize, Deserialize)]
#[job(queue = "bulk", max_attempts = 3, dead_letter_key = self.sku, concurrency_key = self.sku)]
pub struct IndexProduct {
    /// The product.
    pub sku: String,
}

impl Job<Shop> for IndexProduct {
    async fn run(self, cx: JobContext<Shop>) -> jobkit::Result {
        let pool = &cx.state().pool;
        let find = sqlx::query_scalar("select title from products where sku = $1");
        let Some(title): Option<String> = find.bind(&self.sku).fetch_optional(pool).await? else {
            return Err(JobError::discard("the product is gone"));
        };
        // Computing for long on a thread of the runtime holds up every other job on that thread,
        // though no lease. The span makes what is logged there part of this attempt.
        let span = cx.span().clone();
        let words = spawn_blocking(move || span.in_scope(|| words(&title))).await?;
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
