#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(auto_replay = "1h", maxcycles = 5)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
