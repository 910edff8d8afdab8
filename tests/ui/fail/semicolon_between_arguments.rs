#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(queue = "mail"; priority = 1)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
