#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job("mail")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
