use jobkit::{Job, JobContext, JobType, job};
use serde::{Deserialize, Serialize};

/// The acronym stays one word in the kind.
#[job]
#[derive(Serialize, Deserialize)]
struct HTTPFetch;

impl Job for HTTPFetch {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
#[job()]
struct Greet(String, u32);

impl Job for Greet {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[test]
fn is_accepted() {
    assert_eq!(HTTPFetch::POLICY.kind, "http_fetch");
    assert_eq!(HTTPFetch::POLICY.queue, "default");
    assert_eq!(HTTPFetch::POLICY.auto_replay, None);
    assert_eq!(HTTPFetch.concurrency_key(), None);
    assert_eq!(HTTPFetch.dead_letter_key(), None);
    assert_eq!(Greet::POLICY.kind, "greet");
}
