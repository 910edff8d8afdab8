use jobkit::{Job, JobContext, JobType, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[job(redact(name), encrypt(api_token, card.number), concurrency_key = self.card.brand)]
struct Charge {
    api_token: String,
    name: String,
    card: Card,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Card {
    number: String,
    brand: String,
}

impl Job for Charge {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[test]
fn is_accepted() {
    assert_eq!(Charge::POLICY.encrypt, ["apiToken", "api_token", "card.number"]);
    assert_eq!(Charge::POLICY.redact, ["name", "apiToken", "api_token", "card.number"]);
}
