#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(queue)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
