//! The expansion names everything by absolute paths, whatever the surroundings call theirs.

use jobkit::job;

#[allow(dead_code, reason = "they are here to be in the way")]
mod surroundings {
    pub(crate) struct String;
    pub(crate) struct Duration;
    pub(crate) enum Option {
        Some,
        None,
    }
    pub(crate) use self::Option::{None, Some};
    pub(crate) trait JobType {}
    pub(crate) mod core {}
    pub(crate) mod std {}
    pub(crate) mod jobkit {}
}

#[allow(unused_imports, reason = "they are here to be in the way")]
use surroundings::{Duration, JobType, None, Option, Some, String};

#[derive(serde::Serialize, serde::Deserialize)]
#[job(
    timeout = "90s",
    retention = none,
    aliases = ["old"],
    auto_replay = "1h",
    dead_letter_key = self.0,
    concurrency_key = self.0,
)]
struct Ping(u8);

impl jobkit::Job for Ping {
    async fn run(self, _cx: jobkit::JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[test]
fn is_accepted() {
    assert!(jobkit::JobType::concurrency_key(&Ping(1)).is_some());
}
