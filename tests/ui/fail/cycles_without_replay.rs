#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(max_cycles = 5)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
