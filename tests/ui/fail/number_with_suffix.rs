#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(priority = -2i16)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
