use jobkit::{Job, JobContext};

#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(dead_letter_key = self.accounts)]
struct SendReceipts {
    accounts: Vec<i64>,
}

impl Job for SendReceipts {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
