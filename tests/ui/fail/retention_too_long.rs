#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(retention = "1y")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
