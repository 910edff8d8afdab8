#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(aliases = ["mail_receipt", "receipt", "mail_receipt"])]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
