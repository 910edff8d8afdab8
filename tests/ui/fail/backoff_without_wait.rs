#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(backoff = fixed)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
