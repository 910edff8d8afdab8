use jobkit::{Job, JobContext, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[job(encrypt(tokn, card.number))]
struct Charge {
    token: String,
    cents: i64,
}

impl Job for Charge {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
