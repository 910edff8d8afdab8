use jobkit::{Enqueue, Job, JobContext, JobError, job};
use serde::{Deserialize, Serialize};

use super::{IndexProduct, Paper, SendReceipt, webhook};
use crate::Shop;

/// Refunds an order, and tells everybody.
#[derive(Debug, Serialize, Deserialize)]
#[job(queue = "payments", max_attempts = 10)]
pub struct RefundOrder {
    /// The order.
    pub order: i64,
}

impl Job<Shop> for RefundOrder {
    async fn run(self, cx: JobContext<Shop>) -> jobkit::Result {
        // All of it or nothing: were the credit note enqueued before the commit of the rest, a
        // second attempt would send a second one. The update is the guard and locks the row, so of
        // two runs at once the second finds nothing to do.
        let mut tx = cx.state().pool.begin().await?;
        let refund = "update orders set refunded_at = now()
            where id = $1 and charged_at is not null and refunded_at is null returning sku";
        let refund = sqlx::query_scalar(refund).bind(self.order);
        let Some(sku): Option<String> = refund.fetch_optional(&mut *tx).await? else {
            return Err(JobError::discard("there is nothing to refund"));
        };
        SendReceipt { order: self.order, paper: Paper::CreditNote }.enqueue(&mut *tx).await?;
        IndexProduct { sku }.enqueue(&mut *tx).await?;
        webhook::announce("order.refunded", self.order, &mut tx).await?;
        tx.commit().await?;
        Ok(())
    }
}
