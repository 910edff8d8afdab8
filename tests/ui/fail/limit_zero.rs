#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(concurrency_key = self.account_id, concurrency_limit = 0)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
