#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(auto_replay = "500ms")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
