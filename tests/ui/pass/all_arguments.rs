use std::time::Duration;

use jobkit::policy::{AutoReplay, Concurrency};
use jobkit::{Backoff, Job, JobContext, JobType, job};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[job(
    kind = "receipt",
    aliases = ["mail_receipt", "receipt_v1"],
    queue = "mail",
    priority = -1,
    max_attempts = 5,
    timeout = "1m 30s",
    expires = "1h",
    retry_for = "6h",
    retention = "7d",
    retention_discarded = "30d",
    backoff = exponential("500ms", max = "1h"),
    auto_replay = "1h 30m",
    max_cycles = 5,
    dead_letter_key = self.account_id,
    concurrency_key = format!("{}/{}", self.account_id, self.region),
    concurrency_limit = 2,
    concurrency_group = "accounts",
)]
struct SendReceipt {
    account_id: i64,
    region: String,
}

impl Job for SendReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[test]
fn is_accepted() {
    let policy = SendReceipt::POLICY;
    assert_eq!(policy.kind, "receipt");
    assert_eq!(policy.aliases, ["mail_receipt", "receipt_v1"]);
    assert_eq!(policy.queue, "mail");
    assert_eq!(policy.priority, -1);
    assert_eq!(policy.max_attempts, 5);
    assert_eq!(policy.timeout, Some(Duration::from_secs(90)));
    assert_eq!(policy.expires, Some(Duration::from_secs(3600)));
    assert_eq!(policy.retry_for, Some(Duration::from_secs(6 * 3600)));
    assert_eq!(policy.retention_discarded, Some(Duration::from_secs(30 * 24 * 3600)));
    assert_eq!(policy.retention, Some(Duration::from_secs(7 * 24 * 60 * 60)));
    assert!(matches!(
        policy.backoff,
        Backoff::Exponential { first, max }
            if first == Duration::from_millis(500) && max == Duration::from_secs(3600)
    ));
    let replay = AutoReplay { after: Duration::from_secs(5400), max_cycles: 5 };
    assert_eq!(policy.auto_replay, Some(replay));
    assert_eq!(policy.concurrency, Some(Concurrency { group: "accounts", limit: 2 }));
    let job = SendReceipt { account_id: 7, region: "eu".to_owned() };
    assert_eq!(job.concurrency_key().as_deref(), Some("7/eu"));
    assert_eq!(job.dead_letter_key().as_deref(), Some("7"));
}
