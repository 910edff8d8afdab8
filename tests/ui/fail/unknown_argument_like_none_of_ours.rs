#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(colour = "red")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
