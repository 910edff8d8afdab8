use jobkit::{Job, JobContext, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[job(encrypt(card))]
struct Charge {
    #[serde(flatten)]
    card: std::collections::HashMap<String, String>,
}

impl Job for Charge {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
