#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(backoff = exponential("5s", "1h"))]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
