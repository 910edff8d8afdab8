#[derive(serde::Serialize, serde::Deserialize)]
#[jobkit::job(
    name = "receipt",
    retries = 3,
    cron = "0 8 * * *",
    delay = "5m",
    unique = true,
    rate_limit = 5,
    concurrency = 2
)]
struct SendReceipt {
    account_id: i64,
}

fn main() {}
