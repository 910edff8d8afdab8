use std::time::Duration;

use jobkit::{Job, JobContext};

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(backoff = Self::retry_after)]
struct SendReceipt;

impl SendReceipt {
    fn retry_after(&self, attempt: u32) -> Duration {
        Duration::from_secs(10) * attempt
    }
}

impl Job for SendReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
