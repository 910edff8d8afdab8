#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(auto_replay = "31d")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
