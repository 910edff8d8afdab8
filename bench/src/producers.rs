//! 32 producers hold their transactions open for 10 ms after the write, as web requests do.

use std::time::{Duration, Instant};

use anyhow::Result;
use jobkit::Enqueue;
use sqlx::{PgConnection, PgPool};

use crate::drain::{Noop, Payload};

const PRODUCERS: usize = 32;
const HELD: Duration = Duration::from_millis(10);
const ROUND: Duration = Duration::from_secs(3);

#[derive(Clone, Copy)]
enum Write {
    /// A job.
    Job,
    /// The same payload in one row of a table of the application.
    Plain,
}

/// Enqueues and plain inserts in turn.
pub(crate) async fn compare(pool: &PgPool, rounds: usize) -> Result<()> {
    let mut ratios = Vec::new();
    for round in 1..=rounds {
        let [jobs, plain] = self::round(pool).await?;
        println!("round {round}: {jobs:.0} enqueues/s, {plain:.0} plain inserts/s");
        ratios.push(jobs / plain);
    }
    ratios.sort_by(f64::total_cmp);
    println!("ratio  : {:.2} (median)", ratios[ratios.len() / 2]);
    Ok(())
}

/// Enqueues a second, and plain inserts.
pub(crate) async fn round(pool: &PgPool) -> Result<[f64; 2]> {
    let table = "create table if not exists app (
        id bigint generated always as identity primary key,
        kind text not null, args jsonb not null)";
    sqlx::raw_sql(table).execute(pool).await?;
    Ok([rate(pool, Write::Job).await?, rate(pool, Write::Plain).await?])
}

/// Transactions a second of all producers together.
async fn rate(pool: &PgPool, write: Write) -> Result<f64> {
    let began = Instant::now();
    let producers: Vec<_> =
        (0..PRODUCERS).map(|_| tokio::spawn(produce(pool.clone(), write, began))).collect();
    let mut done = 0;
    for producer in producers {
        done += producer.await??;
    }
    Ok(f64::from(done) / began.elapsed().as_secs_f64())
}

async fn produce(pool: PgPool, write: Write, began: Instant) -> Result<u32> {
    let mut done = 0;
    while began.elapsed() < ROUND {
        let mut tx = pool.begin().await?;
        write.run(&mut tx).await?;
        tokio::time::sleep(HELD).await;
        tx.commit().await?;
        done += 1;
    }
    Ok(done)
}

impl Write {
    async fn run(self, transaction: &mut PgConnection) -> Result<()> {
        match self {
            Self::Job => {
                Noop(Payload::new(7)).enqueue(transaction).await?;
            }
            Self::Plain => {
                sqlx::query("insert into app (kind, args) values ('noop', $1)")
                    .bind(sqlx::types::Json(Payload::new(7)))
                    .execute(transaction)
                    .await?;
            }
        }
        Ok(())
    }
}
