#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(queue = "mail", priority = 1, queue = "post")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
