use jobkit::{Job, JobContext, job};

#[derive(serde::Serialize, serde::Deserialize)]
struct Card {
    number: String,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[job(redact(card))]
struct Charge {
    #[serde(flatten)]
    card: Card,
}

impl Job for Charge {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
