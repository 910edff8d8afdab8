#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(priority = -4)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
