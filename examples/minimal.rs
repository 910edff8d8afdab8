//! Sign-ups that send a mail, and a mail that is retried: `cargo run --example minimal`

use anyhow::Context;
use jobkit::{Enqueue, Job, JobContext, Worker, job};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

/// Greets a new user, and has their picture made.
#[derive(Serialize, Deserialize)]
#[job(queue = "mail", max_attempts = 5, backoff = exponential("1s", max = "1m"))]
struct Welcome {
    name: String,
}

impl Job<PgPool> for Welcome {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        if cx.attempt() == 1 {
            return Err("the mail server is busy".into()); // any error means: later again
        }
        println!("attempt {}: welcome, {}!", cx.attempt(), self.name);
        DrawPicture(self.name).enqueue(cx.state()).await?;
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
#[job]
struct DrawPicture(String);

impl Job for DrawPicture {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        println!("job {} draws {}", cx.id(), self.0);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    sqlx::raw_sql("create table if not exists users (name text)").execute(&pool).await?;

    let mut tx = pool.begin().await?;
    sqlx::query("insert into users values ('Ada')").execute(&mut *tx).await?;
    Welcome { name: "Ada".into() }.enqueue(&mut *tx).await?; // commits with the row, or not at all
    tx.commit().await?;

    let worker = Worker::new(pool.clone()).state(pool).queue("mail", 5).queue("default", 20);
    let worker = worker.start().await?;
    worker.run_until_signal().await?;
    Ok(())
}
