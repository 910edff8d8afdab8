use jobkit::{Job, JobContext, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[job(
    encrypt(token, card.number),
    concurrency_key = self.token.trim(),
    dead_letter_key = format!("{}/{}", self.id, self.card.number),
    unique_key = self.card
)]
struct Charge {
    id: i64,
    token: String,
    card: Card,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Card {
    number: String,
}

impl Job for Charge {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn main() {}
