#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(kind = "receipt_receipt_receipt_receipt_receipt_receipt_receipt_receipt_\
    receipt_receipt_receipt_receipt_receipt_receipt_receipt_receipt_receipt_")]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
