#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(expires = "0s", retry_for = "2y")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
