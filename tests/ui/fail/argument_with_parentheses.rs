#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(queue("mail"))]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
