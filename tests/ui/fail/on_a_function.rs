#[jobkit::job(queue = "mail")]
async fn send_receipt(account_id: i64) -> jobkit::Result {
    println!("{account_id}");
    Ok(())
}

fn main() {}
