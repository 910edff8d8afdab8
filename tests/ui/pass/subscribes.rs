#![deny(warnings, clippy::pedantic)]

use jobkit::enqueue::Topic;
use jobkit::{Job, JobContext, JobType, job};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct Paid {
    pub order: i64,
}

impl Topic for Paid {
    const NAME: &'static str = "order.paid";
    const VERSION: u16 = 3;
    const REDACT: &'static [&'static str] = &["order"];
}

#[derive(Serialize, Deserialize)]
#[job(queue = "mail", subscribes, upcast(2 = Self::from_second))]
pub struct SendReceipt(Paid);

impl SendReceipt {
    fn from_second(order: i64) -> Self {
        Self(Paid { order })
    }
}

impl Job for SendReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
#[job(subscribes)]
pub struct CountSales(pub Paid);

impl Job for CountSales {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[test]
fn is_accepted() {
    let policy = SendReceipt::POLICY;
    assert_eq!((policy.topic, policy.version), (Some("order.paid"), 3));
    assert_eq!((policy.queue, policy.redact), ("mail", &["order"][..]));
    assert_eq!(CountSales::POLICY.kind, "count_sales");
}
