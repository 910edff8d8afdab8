#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(max_attempts = 0)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
