#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(auto_reply = "1h")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
