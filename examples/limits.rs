//! What holds jobs back: a rate for each key, a rest that a service asks for, a pause of a kind,
//! and a job that would come too late: `cargo run --example limits`

use std::time::{Duration, Instant};

use anyhow::Context;
use jobkit::{Admin, Enqueue, Job, JobContext, Worker, job};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Who called the service, and when it answered.
type Service = UnboundedSender<(String, Instant)>;

/// How long the service wants to be left alone by one that calls too often.
const REST: Duration = Duration::from_secs(4);

/// Calls a service for an account: ten times a second for each, over all workers.
#[derive(Serialize, Deserialize)]
#[job(queue = "calls", concurrency_key = self.account, rate = "10/s", burst = 1)]
struct Call {
    account: String,
    too_many: bool,
}

impl Job<Service> for Call {
    async fn run(self, cx: JobContext<Service>) -> jobkit::Result {
        if self.too_many && cx.snoozes() == 0 {
            // 429: no job of this account begins before then, and this one waits too, uncharged.
            // For another key: `cx.pause_key_of(group, key, REST)`.
            return Err(cx.retry_after(REST, "too many requests").await);
        }
        cx.state().send((self.account, Instant::now()))?;
        Ok(())
    }
}

/// A code that is of no use after a second.
#[derive(Serialize, Deserialize)]
#[job(queue = "calls", expires = "1s", retention = "1h")]
struct SendCode {}

impl Job<Service> for SendCode {
    async fn run(self, _cx: JobContext<Service>) -> jobkit::Result {
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    let admin = Admin::new(&pool);
    admin.kind("send_code").pause("the mail server is down").await?;
    let (sender, mut answers) = unbounded_channel::<(String, Instant)>();
    let worker = Worker::new(pool.clone()).state(sender).queue("calls", 10).start().await?;
    let code = SendCode {}.enqueue(&pool).await?;
    let began = Instant::now();
    let call = |account: &str, too_many| Call { account: account.to_owned(), too_many };
    call("acme", true).enqueue(&pool).await?;
    jobkit::enqueue_all((0..11).map(|_| call("globex", false)), &pool).await?;
    for _ in 0..11 {
        answers.recv().await.context("an answer")?;
    }
    println!("globex was called 11 times in {:.1} s", began.elapsed().as_secs_f64());
    let (account, at) = answers.recv().await.context("an answer")?;
    println!("{account} was called again after {:.1} s", at.duration_since(began).as_secs_f64());
    admin.kind("send_code").resume().await?;
    let end = admin.job(code).await_end(Duration::from_secs(60)).await?;
    println!("the code {}", end.context("an end")?);
    worker.stop().await;
    Ok(())
}
