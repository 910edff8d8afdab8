use jobkit::policy::Concurrency;
use jobkit::{Job, JobContext, JobType, job};
use serde::{Deserialize, Serialize};

// rustfmt indents the arguments once more each time.
#[rustfmt::skip]
macro_rules! import {
    ($name:ident, $queue:expr, $priority:literal, $limit:expr) => {
        #[derive(Serialize, Deserialize)]
        #[job(
            queue = $queue,
            priority = $priority,
            concurrency_key = self.tenant,
            concurrency_limit = $limit,
        )]
        struct $name {
            tenant: i64,
        }

        impl Job for $name {
            async fn run(self, _cx: JobContext) -> jobkit::Result {
                Ok(())
            }
        }
    };
}

macro_rules! declare {
    ($name:ident, $($arguments:tt)*) => {
        #[derive(Serialize, Deserialize)]
        #[job($($arguments)*)]
        struct $name {
            tenant: i64,
        }

        impl Job for $name {
            async fn run(self, _cx: JobContext) -> jobkit::Result {
                Ok(())
            }
        }
    };
}

import!(ImportOrders, "orders", -2, 3);
declare!(
    ImportBills,
    queue = "bills",
    concurrency_key = if self.tenant > 3 { "large" } else { "small" }
);

#[test]
fn is_accepted() {
    assert_eq!(ImportOrders::POLICY.queue, "orders");
    assert_eq!(ImportOrders::POLICY.priority, -2);
    let limit = Concurrency { group: "import_orders", limit: 3 };
    assert_eq!(ImportOrders::POLICY.concurrency, Some(limit));
    assert_eq!(ImportOrders { tenant: 4 }.concurrency_key().as_deref(), Some("4"));
    assert_eq!(ImportBills::POLICY.queue, "bills");
    assert_eq!(ImportBills { tenant: 4 }.concurrency_key().as_deref(), Some("large"));
}
