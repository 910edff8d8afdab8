#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(auto_replay = none, max_cycles = 5)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
