use jobkit::{Job, JobContext, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[job(redact(card.numbr, cards.number, other.number))]
struct Charge {
    card: Card,
    cards: Option<Vec<Card>>,
    other: std::collections::HashMap<String, Card>,
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
