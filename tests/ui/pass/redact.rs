use jobkit::{Declared, Job, JobContext, job};

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[job(redact(api_token, r#type.number,), max_attempts = 5)]
struct Charge {
    #[serde(default)]
    api_token: String,
    #[serde(rename = "kind")]
    r#type: Option<serde_json::Value>,
}

impl Job for Charge {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[test]
fn is_accepted() {
    let expected = ["apiToken", "api_token", "kind.number", "type.number"];
    assert_eq!(Charge::POLICY.redact, expected);
}
