use jobkit::{Job, JobContext, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[job(version = 2, upcast())]
struct SendReceipt;

impl SendReceipt {
    fn from_v1(_: i64) -> Self {
        Self
    }

    fn from_v2(_: bool) -> Self {
        Self
    }
}

impl Job for SendReceipt {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {
    let _used = (SendReceipt::from_v1, SendReceipt::from_v2);
}
