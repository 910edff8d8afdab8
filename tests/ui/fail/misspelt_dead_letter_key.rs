#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(deadletter_key = self.account_id)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
