#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(concurrency_limit = 2)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
