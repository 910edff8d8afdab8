#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(auto_replay = 3600)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
