use jobkit::{Job, JobContext, JobType, job};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[job(concurrency_key = self.r#type)]
#[allow(non_camel_case_types, reason = "the name is the point of the test")]
struct r#match {
    r#type: String,
}

impl Job for r#match {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[test]
fn is_accepted() {
    assert_eq!(r#match::POLICY.kind, "match");
    let job = r#match { r#type: "a".to_owned() };
    assert_eq!(job.concurrency_key().as_deref(), Some("a"));
}
