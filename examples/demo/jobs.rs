//! What is to be done in a shop: at once, later, or one at a time; and some of it fails.

use std::time::Duration;

use jobkit::{Job, JobContext, JobError, job};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

/// A stretch of time, in milliseconds: somewhere between.
async fn work(least: u64, most: u64) {
    sleep(Duration::from_millis(fastrand::u64(least..most))).await;
}

/// Mails a receipt. The relay is slow at times, and refuses some addresses for good.
#[derive(Serialize, Deserialize)]
#[job(queue = "mail", max_attempts = 4, backoff = exponential("3s", max = "1m"), retention = "6h")]
pub(crate) struct SendReceipt {
    pub(crate) order_id: i64,
    pub(crate) to: String,
}

impl Job for SendReceipt {
    async fn run(self, _: JobContext) -> jobkit::Result {
        work(20, 400).await;
        match self.order_id % 40 {
            7 => Err(JobError::dead(format!("550 5.1.1 <{}>: recipient rejected", self.to))),
            21 => Err(JobError::dead(format!("552 5.2.2 <{}>: mailbox full", self.to))),
            33 => Err(JobError::discard(format!("order {} was cancelled", self.order_id))),
            _ if fastrand::u8(..10) == 0 => {
                Err(format!("relay timed out after 30 s for order {}", self.order_id).into())
            }
            _ => Ok(()),
        }
    }
}

/// Makes a picture smaller. There are many, and nobody asks for them later.
#[derive(Serialize, Deserialize)]
#[job(queue = "images", retention = none)]
pub(crate) struct ResizeImage {
    pub(crate) path: String,
    pub(crate) width: u32,
}

impl Job for ResizeImage {
    async fn run(self, _: JobContext) -> jobkit::Result {
        work(5, 60).await;
        Ok(())
    }
}

/// Brings an account up to date; one page at a time for each account.
#[derive(Serialize, Deserialize)]
#[job(queue = "sync", concurrency_key = self.account, retention = "6h")]
pub(crate) struct SyncAccount {
    pub(crate) account: String,
    pub(crate) page: u32,
}

impl Job for SyncAccount {
    async fn run(self, _: JobContext) -> jobkit::Result {
        work(500, 5000).await;
        Ok(())
    }
}

/// Charges a card, whose number nobody needs to see. Whatever fails for an account is one dead
/// letter.
#[derive(Serialize, Deserialize)]
#[job(
    queue = "billing",
    max_attempts = 2,
    backoff = fixed("5s"),
    dead_letter_key = self.account,
    redact(card)
)]
pub(crate) struct ChargeCard {
    pub(crate) account: String,
    pub(crate) cents: i64,
    pub(crate) card: String,
}

impl Job for ChargeCard {
    async fn run(self, _: JobContext) -> jobkit::Result {
        work(100, 900).await;
        match self.cents % 12 {
            0 => Err(JobError::dead(format!("the card of {:?} has expired", self.account))),
            1 => Err(format!("the bank answered 503 to {} cents", self.cents).into()),
            _ => Ok(()),
        }
    }
}

/// Builds a report, which takes a while; not before the numbers of the month are in.
#[derive(Serialize, Deserialize)]
#[job(queue = "reports", max_attempts = 3, timeout = "1m", retention = "2d", priority = 2)]
pub(crate) struct BuildReport {
    pub(crate) month: String,
}

/// How many pages a report has.
const PAGES: u64 = 20;

impl Job for BuildReport {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        let first: u64 = cx.last_checkpoint().await?.unwrap_or(0);
        if first == 0 && fastrand::u8(..4) == 0 {
            return Err(JobError::snooze(Duration::from_secs(20)));
        }
        tracing::info!(first, "building the report of {}", self.month);
        for page in first..PAGES {
            if cx.stop_reason().is_some() {
                return Err(JobError::release());
            }
            work(250, 1_250).await;
            cx.checkpoint(&(page + 1)).await?;
            cx.progress(page + 1, PAGES, "pages");
        }
        Ok(())
    }
}

/// Reminds somebody of a full basket; urgent once its time has come.
#[derive(Serialize, Deserialize)]
#[job(queue = "mail", priority = -1, retention = "6h")]
pub(crate) struct RemindOfBasket {
    pub(crate) to: String,
    pub(crate) items: u32,
}

impl Job for RemindOfBasket {
    async fn run(self, _: JobContext) -> jobkit::Result {
        work(20, 200).await;
        Ok(())
    }
}

/// Tells the warehouse what to pack. Its queue is paused when the shop opens.
#[derive(Serialize, Deserialize)]
#[job(queue = "warehouse", priority = -2, retention = "6h")]
pub(crate) struct PackOrder {
    pub(crate) order_id: i64,
    pub(crate) parcels: u32,
}

impl Job for PackOrder {
    async fn run(self, _: JobContext) -> jobkit::Result {
        work(50, 500).await;
        Ok(())
    }
}
