#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(timeout = "0s")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
