#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(backoff = exponental("5s"))]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
