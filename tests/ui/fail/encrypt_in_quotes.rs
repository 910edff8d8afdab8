use jobkit::{Job, JobContext, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[job(encrypt("token"))]
struct Charge {
    token: String,
    card: serde_json::Value,
}

impl Job for Charge {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
