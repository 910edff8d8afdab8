#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(concurrency_key = "{self.region}/{self.account_id}")]
struct SendReceipt {
    region: String,
    account_id: i64,
}

fn main() {}
