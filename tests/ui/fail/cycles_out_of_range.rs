#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(auto_replay = "1h", max_cycles = 1)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
