#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(concurrency_group = "accounts")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
