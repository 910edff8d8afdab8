use jobkit::{Job, JobContext, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[job(version = 2, upcast(1 = Self::from_v1))]
struct SendReceipt;

impl SendReceipt {
    fn from_v1(old: i64) -> i64 {
        old
    }
}

impl Job for SendReceipt {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
