//! awa 0.6.9. It keeps finished jobs in its append-only completion segments, until they rotate out.
//!
//! Its best: the short claim path without a deadline per job, one claimer with a batch of 512, and
//! COPY for bulk loads. Knobs: AWA_WORKERS, AWA_CLAIMERS, AWA_CLAIM, AWA_DEADLINE_S, AWA_BULK.

use std::time::Duration;

use anyhow::Result;
use awa::model::{QueueStorage, QueueStorageConfig, insert, insert_many, insert_with, migrations};
use awa::{Client, InsertOpts, JobContext, JobError, JobResult, QueueConfig, Worker};
use harness::{Peer, db_url, env_or, on_job, queue_of, queues, slots};
use serde::{Deserialize, Serialize};
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgPool, Postgres};

#[derive(Debug, Serialize, Deserialize, awa::JobArgs)]
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

struct Handler;

#[async_trait::async_trait]
impl Worker for Handler {
    fn kind(&self) -> &'static str {
        "bench_job"
    }

    async fn perform(&self, context: &JobContext) -> Result<JobResult, JobError> {
        let job: BenchJob = serde_json::from_value(context.job.args.clone())
            .map_err(|error| JobError::Terminal(error.to_string()))?;
        on_job(job.seq, job.us).await;
        Ok(JobResult::Completed)
    }
}

struct Awa {
    pool: PgPool,
    storage: QueueStorage,
}

fn options(seq: i64) -> InsertOpts {
    InsertOpts { queue: queue_of(seq).to_owned(), ..InsertOpts::default() }
}

fn client(pool: &PgPool) -> Result<Client> {
    let mut client = Client::builder(pool.clone()).register_worker(Handler);
    for queue in queues() {
        let config = QueueConfig {
            max_workers: slots(env_or("AWA_WORKERS", 256)),
            claimers: env_or("AWA_CLAIMERS", 1),
            claim_batch_size: env_or("AWA_CLAIM", 512),
            deadline_duration: Duration::from_secs(env_or("AWA_DEADLINE_S", 0)),
            ..QueueConfig::default()
        };
        client = client.queue(queue.as_str(), config);
    }
    Ok(client.build()?)
}

impl Peer for Awa {
    type Producer = PoolConnection<Postgres>;

    async fn setup() -> Result<()> {
        let pool = PgPool::connect(&db_url()).await?;
        migrations::run(&pool).await?;
        // The first start of a client activates the storage on a fresh database.
        let client = client(&pool)?;
        client.start().await?;
        tokio::time::sleep(Duration::from_secs(2)).await;
        client.shutdown(Duration::from_secs(5)).await;
        Ok(())
    }

    async fn connect(connections: u32) -> Result<Self> {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .test_before_acquire(false)
            .connect(&db_url())
            .await?;
        Ok(Self { pool, storage: QueueStorage::new(QueueStorageConfig::default())? })
    }

    async fn producer(&self) -> Result<Self::Producer> {
        Ok(self.pool.acquire().await?)
    }

    async fn enqueue_one(&self, producer: &mut Self::Producer, seq: i64, us: i64) -> Result<()> {
        insert_with(&mut **producer, &BenchJob::new(seq, us), options(seq)).await?;
        Ok(())
    }

    async fn enqueue_many(&self, from: i64, jobs: usize, us: i64) -> Result<()> {
        let jobs = (from..).take(jobs);
        let params = jobs.map(|seq| insert::params_with(&BenchJob::new(seq, us), options(seq)));
        let params = params.collect::<Result<Vec<_>, _>>()?;
        if env_or("AWA_BULK", "copy".to_owned()) == "copy" {
            self.storage.enqueue_params_copy(&self.pool, &params).await?;
        } else {
            insert_many(&self.pool, &params).await?;
        }
        Ok(())
    }

    async fn start_worker(&self) -> Result<()> {
        let client = client(&self.pool)?;
        client.start().await?;
        // It works until the process ends.
        std::mem::forget(client);
        Ok(())
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    harness::run::<Awa>().await
}
