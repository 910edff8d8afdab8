#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(attempts = 5)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
