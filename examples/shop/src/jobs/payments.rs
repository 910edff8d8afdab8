use jobkit::{Enqueue, Job, JobContext, JobError, job};
use serde::{Deserialize, Serialize};

use super::{IndexProduct, SendReceipt, webhook};
use crate::Shop;

/// Charges the card of an order.
///
/// The card is redacted: the dashboard shows the field and not its value.
#[derive(Debug, Serialize, Deserialize)]
#[job(
    queue = "payments", priority = -1, max_attempts = 10, timeout = "20s",
    backoff = exponential("2s", max = "10m"), redact(card)
)]
pub struct ChargeCard {
    pub order: i64,
    pub card: String,
}

impl Job<Shop> for ChargeCard {
    async fn run(self, cx: JobContext<Shop>) -> jobkit::Result {
        let Shop { pool, partners } = cx.state();

        // The key is the same in each attempt, so a charge whose answer was lost is not made again.
        // The replay of a dead letter is another job with another key: hence the first one is kept
        // with the order, committed before the provider hears of it, and every later run uses it.
        let keep = "update orders set charge_key = coalesce(charge_key, $2)
            where id = $1 and charged_at is null and declined_at is null
            returning charge_key, cents";
        let keep = sqlx::query_as(keep).bind(self.order).bind(cx.idempotency_key());
        let Some((key, cents)): Option<(String, i64)> = keep.fetch_optional(pool).await? else {
            return Ok(()); // an earlier run came to its end, and died before that was recorded
        };
        if !partners.charge(&key, &self.card, cents).await? {
            let declined = sqlx::query("update orders set declined_at = now() where id = $1");
            declined.bind(self.order).execute(pool).await?;
            // An outcome of the business, not a fault: nobody has to look at it.
            return Err(JobError::discard("the card was declined"));
        }
        let mut tx = pool.begin().await?;
        let charged = "update orders set charged_at = now() where id = $1 and charged_at is null";
        let charged = sqlx::query(charged).bind(self.order).execute(&mut *tx).await?;
        // Of two runs at once (one cut off by its lease, say) one makes the receipt.
        if charged.rows_affected() == 1 {
            SendReceipt { order: self.order, credit_note: false }.enqueue(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(())
    }
}

/// Enters a refund that the card provider reports, and tells everybody.
#[derive(Debug, Serialize, Deserialize)]
#[job(queue = "payments", max_attempts = 10)]
pub struct RefundOrder {
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
        SendReceipt { order: self.order, credit_note: true }.enqueue(&mut *tx).await?;
        IndexProduct { sku }.enqueue(&mut *tx).await?;
        webhook::announce("order.refunded", self.order, &mut tx).await?;
        tx.commit().await?;
        Ok(())
    }
}
