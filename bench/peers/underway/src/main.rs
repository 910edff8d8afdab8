//! underway 0.2.0. It keeps finished jobs in its table, for two weeks.
//!
//! Its best: eight workers, each with a loop of its own, since a loop starts with a notification
//! and a loaded queue would be drained by one. Knob: UW_CONC.

use std::sync::Arc;

use anyhow::Result;
use harness::{Peer, db_url, env_or, on_job, queue, slots};
use serde::{Deserialize, Serialize};
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgPool, Postgres, Transaction};
use underway::task::{Error, Result as TaskResult};
use underway::{Queue, Task, Worker};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct BenchJob {
    seq: i64,
    us: i64,
    email: String,
    template: String,
}

impl BenchJob {
    fn new(seq: i64, us: i64) -> Self {
        Self { seq, us, email: format!("user{seq}@example.com"), template: "welcome".to_owned() }
    }
}

#[derive(Clone)]
struct Noop;

impl Task for Noop {
    type Input = BenchJob;
    type Output = ();

    async fn execute(&self, tx: Transaction<'_, Postgres>, job: BenchJob) -> TaskResult<()> {
        on_job(job.seq, job.us).await;
        tx.commit().await.map_err(|error| Error::Retryable(error.to_string()))
    }
}

struct Underway {
    pool: PgPool,
    queue: Queue<Noop>,
}

async fn bench_queue(pool: &PgPool, name: String) -> Result<Queue<Noop>> {
    Ok(Queue::builder().name(name).pool(pool.clone()).build().await?)
}

impl Peer for Underway {
    type Producer = PoolConnection<Postgres>;

    async fn setup() -> Result<()> {
        // Its migration is not Send, so it runs on this thread.
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let pool = PgPool::connect(&db_url()).await?;
                underway::run_migrations(&pool).await?;
                bench_queue(&pool, "default".to_owned()).await?;
                Ok(())
            })
        })
    }

    async fn connect(connections: u32) -> Result<Self> {
        // A loop keeps two that listen, and its job has a transaction.
        let pool = PgPoolOptions::new()
            .max_connections(connections.max(3 * slots(0) + 4))
            .test_before_acquire(false)
            .connect(&db_url())
            .await?;
        let queue = bench_queue(&pool, queue()).await?;
        Ok(Self { pool, queue })
    }

    async fn producer(&self) -> Result<Self::Producer> {
        Ok(self.pool.acquire().await?)
    }

    async fn enqueue_one(&self, producer: &mut Self::Producer, seq: i64, us: i64) -> Result<()> {
        self.queue.enqueue(&mut **producer, &Noop, &BenchJob::new(seq, us)).await?;
        Ok(())
    }

    async fn enqueue_many(&self, from: i64, jobs: usize, us: i64) -> Result<()> {
        let jobs: Vec<_> = (from..).take(jobs).map(|seq| BenchJob::new(seq, us)).collect();
        self.queue.enqueue_multi(&self.pool, &Noop, &jobs).await?;
        Ok(())
    }

    async fn start_worker(&self) -> Result<()> {
        for _ in 0..slots(env_or("UW_CONC", 8)) {
            let mut worker = Worker::new(Arc::new(self.queue.clone()), Noop);
            worker.set_concurrency_limit(1);
            tokio::spawn(async move { worker.run().await.map_err(|error| eprintln!("{error}")) });
        }
        Ok(())
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    harness::run::<Underway>().await
}
