use jobkit::{Job, JobContext, job};
use serde::{Deserialize, Serialize};

use crate::Shop;

/// Mails the receipt of an order, or its credit note.
///
/// Waits 2 s, 4 s, 8 s, …: mail servers refuse strangers at first. Eight attempts are three
/// minutes; then it is a dead letter, which somebody sees.
#[derive(Debug, Serialize, Deserialize)]
#[job(queue = "mail", max_attempts = 8, timeout = "30s", backoff = exponential("2s", max = "1m"))]
pub struct SendReceipt {
    /// The order. Its address is looked up when the mail is sent: it may have been corrected.
    pub order: i64,
    /// After a refund rather than a charge.
    #[serde(default)] // jobs from before there were credit notes
    pub credit_note: bool,
}

impl Job<Shop> for SendReceipt {
    async fn run(self, cx: JobContext<Shop>) -> jobkit::Result {
        let Shop { pool, partners } = cx.state();
        let find = "select email, receipted_at is not null from orders where id = $1";
        let find = sqlx::query_as(find).bind(self.order);
        let (email, receipted): (String, bool) = find.fetch_one(pool).await?;
        if receipted && !self.credit_note {
            return Ok(());
        }
        partners.mail(&email).await?;
        // A mail knows no idempotency key. If the process dies here, the customer has two receipts:
        // better than none, which is what marking it first would risk.
        let mark = "update orders set receipted_at = coalesce(receipted_at, now()) where id = $1";
        sqlx::query(mark).bind(self.order).execute(pool).await?;
        Ok(())
    }
}
