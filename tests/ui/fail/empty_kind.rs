#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(kind = "")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
