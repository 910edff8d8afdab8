//! Every driver's transaction carries jobs as jobkit's own statement does: `cargo test -p
//! jobkit-driver-tests`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod drivers;
mod examples;
mod refused;
mod same;
mod transactions;

use jobkit::enqueue::{EnqueueError, Pending, Topic};
use jobkit::{Enqueue, Job, JobContext, JobId, job};
use serde::{Deserialize, Serialize};

/// What is enqueued.
#[derive(Clone, Serialize, Deserialize)]
#[job(
    queue = "mail",
    version = 3,
    concurrency_key = self.customer,
    dead_letter_key = self.order,
    max_attempts = 7
)]
struct SendReceipt {
    order: i64,
    customer: String,
}

impl Job for SendReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// What is published.
#[derive(Serialize, Deserialize)]
struct Paid {
    order: i64,
}

impl Topic for Paid {
    const NAME: &'static str = "order.paid";
}

fn receipt(order: i64) -> SendReceipt {
    SendReceipt { order, customer: "\"Ada\" \\ {Łovelace},'null'".to_owned() }
}

/// A connection of a driver.
trait Driver: Sized {
    async fn connect(url: &str) -> Self;

    /// To the server of an address, without what sqlx adds to it and others do not understand.
    async fn to(url: &str) -> Self {
        Self::connect(plain(url)).await
    }

    /// Stores an order and enqueues its receipt in one transaction, which commits or is rolled
    /// back.
    async fn order(&mut self, order: i64, commits: bool) -> JobId;

    async fn enqueue(&mut self, job: Pending<SendReceipt>) -> Result<JobId, EnqueueError>;

    async fn enqueue_all(
        &mut self,
        jobs: Vec<Pending<SendReceipt>>,
    ) -> Result<Vec<JobId>, EnqueueError>;

    async fn publish(&mut self, event: Paid) -> Result<Vec<JobId>, EnqueueError>;
}

fn plain(url: &str) -> &str {
    url.split('?').next().unwrap()
}

/// The same tests for every driver, in a module of each.
macro_rules! for_every_driver {
    ($($test:ident),* $(,)?) => {
        for_every_driver! { @ [$($test),*]
            deadpool_postgres: DeadpoolPostgres, diesel: Diesel, diesel_async: DieselAsync,
            sea_orm: SeaOrm, sea_orm_1: SeaOrm1, sqlx_08: Sqlx08, tokio_postgres: TokioPostgres,
            unknown: Unknown,
        }
        #[cfg(feature = "libpq")]
        for_every_driver! { @ [$($test),*] libpq: Libpq, }
    };
    (@ $tests:tt $($name:ident: $driver:ident,)*) => {
        $(for_every_driver! { @@ $tests $name $driver })*
    };
    (@@ [$($test:ident),*] $name:ident $driver:ident) => {
        mod $name {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                super::$test::<crate::drivers::$driver>().await;
            })*
        }
    };
}

use for_every_driver;

/// A receipt with everything that can be set.
fn with_options(order: i64, by: &str) -> Pending<SendReceipt> {
    receipt(order)
        .options()
        .queue("slow \"mail\"")
        .priority(-2)
        .max_attempts(3)
        .tags(["a, b", "\"quoted\"", "back\\slash", "null"])
        .metadata(serde_json::json!({"by": by, "text": "{\"a\": [\"\\\\\"]}"}))
}
