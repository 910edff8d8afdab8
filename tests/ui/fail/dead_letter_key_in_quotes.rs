#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(dead_letter_key = "self.account_id.to_string()")]
struct SendReceipt {
    region: String,
    account_id: i64,
}

fn main() {}
