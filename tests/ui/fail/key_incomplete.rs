#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(concurrency_key = self.account_id +, queue = "mail")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
