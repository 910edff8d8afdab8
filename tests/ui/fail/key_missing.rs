#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(concurrency_key = , queue = "mail")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
