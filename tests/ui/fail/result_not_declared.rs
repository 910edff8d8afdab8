use jobkit::{Job, JobContext, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[job]
struct Charge;

impl Job for Charge {
    async fn run(self, _: JobContext) -> jobkit::Result<i64> {
        Ok(7)
    }
}

fn main() {}
