#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(timeout = "90")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
