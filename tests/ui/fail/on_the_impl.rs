use jobkit::{Job, JobContext};

#[derive(serde::Serialize, serde::Deserialize)]
struct SendReceipt;

#[jobkit::job(queue = "mail")]
impl Job for SendReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
