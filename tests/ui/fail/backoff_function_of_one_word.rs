#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(backoff = retry_after)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
