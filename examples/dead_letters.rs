//! A bank stops answering, and answers again: `cargo run --example dead_letters`

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use jobkit::admin::AdminError;
use jobkit::admin::dead_letters::{DeadLetterFilter, DeadLetterState};
use jobkit::admin::operations::BulkAction;
use jobkit::{Admin, Job, JobContext, Worker, job};
use serde::{Deserialize, Serialize};

/// Tells the bank the balance of an account. Only the newest matters: however many fail for good,
/// they are one dead letter of the account, which keeps the newest payload.
#[derive(Serialize, Deserialize)]
#[job(
    queue = "bank",
    max_attempts = 2,
    backoff = fixed("50ms"),
    concurrency_key = self.account,
    dead_letter_key = self.account
)]
struct SendBalance {
    account: String,
    cents: u32,
}

impl Job<Bank> for SendBalance {
    async fn run(self, cx: JobContext<Bank>) -> jobkit::Result {
        cx.state().tell(&self.account, self.cents)?;
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Bank {
    answers: Arc<AtomicBool>,
}

impl Bank {
    fn tell(&self, account: &str, cents: u32) -> io::Result<()> {
        if self.answers.load(Ordering::Relaxed) {
            println!("{account} has {cents} cents, the bank was told");
            return Ok(());
        }
        Err(io::Error::other(format!("the bank answered 503 to \"{account} {cents}\"")))
    }
}

async fn print_dead_letters(admin: &Admin, filter: &DeadLetterFilter) -> Result<(), AdminError> {
    let page = admin.dead_letters(filter, None, 100).await?;
    for dead in page.entries {
        let (key, state) = (dead.key.unwrap_or_default(), dead.state.as_str());
        println!("  {key}: {state}, {} jobs, {} attempts", dead.cycles, dead.attempts);
    }
    Ok(())
}

/// Does it with all that match, no more than twenty a second. How many there were.
async fn act(admin: &Admin, action: &BulkAction, reason: &str) -> Result<u64, AdminError> {
    let key = format!("{} {:?}", action.verb(), SystemTime::now());
    let operation = admin.begin_operation(action, reason, &key).per_second(20).await?;
    // Workers do it. From here as well, until all is done:
    let ended = admin.operation(operation.id).run().await?;
    Ok(ended.map_or(0, |ended| ended.done))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    let bank = Bank::default();
    let worker = Worker::new(pool.clone()).state(bank.clone()).queue("bank", 10).start().await?;

    let send = |account: &str, cents| SendBalance { account: account.to_owned(), cents };
    let balances = [send("acme", 1), send("acme", 2), send("acme", 3), send("globex", 4)];
    jobkit::enqueue_all(balances, &pool).await?;
    while worker.counts().buried < 4 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    let admin = Admin::new(&pool).acting_as("example");
    let balances = DeadLetterFilter::all().kind("send_balance");
    for group in admin.dead_letter_groups(100).await?.iter().filter(|g| g.kind == "send_balance") {
        println!("{} dead letters of one cause, such as: {}", group.count, group.error);
        print_dead_letters(&admin, &balances.clone().fingerprint(&group.fingerprint)).await?;
    }

    bank.answers.store(true, Ordering::Relaxed);
    println!("the bank answers again");
    let replay = BulkAction::Replay(balances.clone());
    let replayed = act(&admin, &replay, "the bank answers again").await?;
    let resolved = balances.state(DeadLetterState::Resolved);
    while u64::from(admin.count_dead_letters(&resolved).await?.number()) < replayed {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    print_dead_letters(&admin, &resolved).await?;
    let old = BulkAction::Purge(resolved, Duration::ZERO);
    let gone = act(&admin, &old, "they are resolved").await?;
    println!("purged {gone}");
    worker.stop().await;
    Ok(())
}
