//! apalis-postgres 1.0.0. It keeps finished jobs in its table.
//!
//! Its best: notifications, and a fetch of 2,000 with as many handlers.
//! Knobs: AP_BATCH, AP_CONC, AP_LOCK and AP_RESULTS (1 or 0), AP_LISTEN (1 or 0).

use anyhow::Result;
use apalis::prelude::*;
use apalis_postgres::{Config, PostgresStorage, queries};
use harness::{Peer, db_url, env_or, on_job, queue, slots};
use serde::{Deserialize, Serialize};
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgConnection, PgPool, Postgres};

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

async fn run(job: BenchJob) -> Result<(), BoxDynError> {
    on_job(job.seq, job.us).await;
    Ok(())
}

struct Apalis {
    pool: PgPool,
}

impl Peer for Apalis {
    type Producer = PoolConnection<Postgres>;

    async fn setup() -> Result<()> {
        let pool = PgPool::connect(&db_url()).await?;
        PostgresStorage::<()>::setup(&pool).await?;
        Ok(())
    }

    async fn connect(connections: u32) -> Result<Self> {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .test_before_acquire(false)
            .connect(&db_url())
            .await?;
        Ok(Self { pool })
    }

    async fn producer(&self) -> Result<Self::Producer> {
        Ok(self.pool.acquire().await?)
    }

    async fn enqueue_one(&self, producer: &mut Self::Producer, seq: i64, us: i64) -> Result<()> {
        push(producer, seq, 1, us).await
    }

    async fn enqueue_many(&self, from: i64, jobs: usize, us: i64) -> Result<()> {
        push(&mut *self.pool.acquire().await?, from, jobs, us).await
    }

    async fn start_worker(&self) -> Result<()> {
        let config = Config::default()
            .queue(queue())
            .batch_size(env_or("AP_BATCH", 2000))
            .lock_tasks(env_or("AP_LOCK", 1) == 1)
            .persist_results(env_or("AP_RESULTS", 1) == 1);
        let storage = PostgresStorage::<BenchJob>::new(&self.pool).with_config(config);
        let handlers: usize = slots(env_or("AP_CONC", 2000));
        let name = format!("worker {}", std::process::id());
        if env_or("AP_LISTEN", 1) == 1 {
            let worker = WorkerBuilder::new(name).backend(storage.with_pubsub());
            let worker = worker.concurrency(handlers).build(run);
            tokio::spawn(async move { worker.run().await.map_err(|error| eprintln!("{error}")) });
        } else {
            let worker = WorkerBuilder::new(name).backend(storage);
            let worker = worker.concurrency(handlers).build(run);
            tokio::spawn(async move { worker.run().await.map_err(|error| eprintln!("{error}")) });
        }
        Ok(())
    }
}

async fn push(connection: &mut PgConnection, from: i64, jobs: usize, us: i64) -> Result<()> {
    let task = |seq| {
        let payload = serde_json::to_vec(&BenchJob::new(seq, us))?;
        Ok(TaskBuilder::new(payload).build())
    };
    let tasks = (from..).take(jobs).map(task).collect::<Result<Vec<_>>>()?;
    queries::push_tasks(connection, &queue(), tasks).await?;
    Ok(())
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    harness::run::<Apalis>().await
}
