use jobkit::{Job, JobContext, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[job(redact(token))]
struct Charge {
    #[cfg_attr(all(), serde(rename = "secretKey"))]
    token: String,
}

impl Job for Charge {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
