#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(concurrency_key = "account_id")]
struct SendReceipt {
    region: String,
    account_id: i64,
}

fn main() {}
