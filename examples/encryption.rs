//! A token that lies encrypted, and another key for it: `cargo run --example encryption`

use anyhow::Context;
use jobkit::policy::encryption::{self, Keyring};
use jobkit::{Admin, Enqueue, Job, JobContext, Worker, job};
use serde::{Deserialize, Serialize};

/// Fetches what is new, with the token that the user has given.
#[derive(Serialize, Deserialize)]
#[job(queue = "feeds", encrypt(token))]
struct FetchFeed {
    account: i64,
    token: String,
}

impl Job for FetchFeed {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        println!("account {} with {} letters of token", self.account, self.token.len());
        Ok(())
    }
}

// Yours are random: `openssl rand -base64 32`.
const OLD: [u8; 32] = *b"0123456789abcdef0123456789abcdef";
const NEW: [u8; 32] = *b"fedcba9876543210fedcba9876543210";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    // From a secret of the platform: `Keyring::from_env()`.
    encryption::keys(Keyring::new("2026a", OLD)?);
    let id = FetchFeed { account: 7, token: "s3cret".to_owned() }.enqueue(&pool).await?;
    let admin = Admin::new(&pool);
    if let Some(job) = admin.job(id).get().await? {
        println!("shown as {}", job.args);
    }
    // A new key seals, and the old one still opens; then everything is sealed with the new one.
    encryption::keys(Keyring::new("2026b", NEW)?.with("2026a", OLD)?);
    let resealed = admin.reseal().await?;
    println!("{} jobs resealed with {}", resealed.jobs, resealed.key);
    encryption::keys(Keyring::new("2026b", NEW)?);
    let worker = Worker::new(pool.clone()).queue("feeds", 10).start().await?;
    admin.job(id).await_end(std::time::Duration::from_secs(60)).await?;
    worker.stop().await;
    Ok(())
}
