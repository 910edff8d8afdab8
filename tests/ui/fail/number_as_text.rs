#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(max_attempts = "5")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
