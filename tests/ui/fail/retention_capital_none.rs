#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(retention = None)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
