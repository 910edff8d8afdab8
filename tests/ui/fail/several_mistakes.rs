use jobkit::{Job, JobContext};

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(
    queue,
    prioritty = 1,
    max_attempts = 2000,
    timeout = "soon",
    backoff = fixed,
    concurrency_limit = 2
)]
struct SendReceipt<T> {
    account_id: T,
}

impl Job for SendReceipt<i64> {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        println!("{}", self.account_id);
        Ok(())
    }
}

fn main() {}
