use std::collections::HashMap;

use jobkit::{Job, JobContext, JobType, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[job(
    redact(api_token, r#type."number", headers."X-Api-Key", method."Card"."number"),
    max_attempts = 5
)]
struct Charge {
    #[serde(default)]
    api_token: String,
    #[serde(rename = "kind")]
    r#type: Option<serde_json::Value>,
    headers: HashMap<String, String>,
    method: Method,
}

#[derive(serde::Serialize, serde::Deserialize)]
enum Method {
    Card { number: String },
    Cash,
}

impl Job for Charge {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// The compiler looks for the fields, through all that may be around them.
#[derive(serde::Serialize, serde::Deserialize)]
#[job(redact(
    plain.number,
    option.number,
    list.number,
    boxed.number,
    array.number,
    deep.r#in.number,
    renamed."Card-No",
))]
struct Ways {
    plain: Card,
    option: Option<Card>,
    list: Vec<Card>,
    boxed: Box<Card>,
    array: [Card; 2],
    #[allow(clippy::vec_box, reason = "the macro looks through all of them")]
    deep: Option<Vec<Box<Deep>>>,
    renamed: Renamed,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Card {
    number: String,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Deep {
    r#in: Vec<Option<Card>>,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Renamed {
    #[serde(rename = "Card-No")]
    number: String,
}

impl Job for Ways {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[test]
fn is_accepted() {
    let expected = [
        "apiToken",
        "api_token",
        "kind.number",
        "type.number",
        "headers.X-Api-Key",
        "method.Card.number",
    ];
    assert_eq!(Charge::POLICY.redact, expected);
    assert!(Ways::POLICY.redact.ends_with(&["deep.in.number", "renamed.Card-No"]));
}
