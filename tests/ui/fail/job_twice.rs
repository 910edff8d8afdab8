use jobkit::{Job, JobContext, job};

#[job(queue = "mail")]
#[derive(serde::Serialize, serde::Deserialize)]
#[job(priority = 1)]
struct SendReceipt;

impl Job for SendReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
