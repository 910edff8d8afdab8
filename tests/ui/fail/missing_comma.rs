#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(queue = "mail" priority = 9)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
