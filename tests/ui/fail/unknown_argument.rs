use jobkit::{Job, JobContext};

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(concurency_key = self.account_id, concurrency_limit = 2)]
struct SendReceipt {
    account_id: i64,
}

impl Job for SendReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        println!("{}", self.account_id);
        Ok(())
    }
}

fn main() {}
