//! riverqueue 0.5.0, River's Rust client. It keeps finished jobs in its table, for a day.
//!
//! Its best: 1,000 handlers to a queue, the shortest cooldown between fetches, no timeout per job.
//! Knobs: RV_WORKERS, RV_COOLDOWN_MS, RV_POLL_MS, RV_TIMEOUT (1 = with its timeout).

use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Result;
use harness::{Peer, db_url, env_or, on_job, queue_of, queues, slots};
use riverqueue::migrate::PostgresMigrator;
use riverqueue::{
    BoxError, Client, InsertOpts, Job, JobArgs, QueueConfig, WorkContext, WorkOutcome, Workers,
};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

#[derive(Clone, Debug, Serialize, Deserialize, JobArgs)]
#[river(kind = "bench_job")]
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

async fn run(_: WorkContext, job: Job<BenchJob>) -> Result<WorkOutcome, BoxError> {
    on_job(job.args.seq, job.args.us).await;
    Ok(WorkOutcome::Complete)
}

fn cooldown() -> Duration {
    Duration::from_millis(env_or("RV_COOLDOWN_MS", 1))
}

fn options(seq: i64) -> InsertOpts {
    InsertOpts::default().with_queue(queue_of(seq))
}

struct River {
    pool: PgPool,
    producer: Client,
    /// It works until the process ends.
    worker: OnceLock<Client>,
}

impl Peer for River {
    /// It takes its pool only.
    type Producer = ();

    async fn setup() -> Result<()> {
        let pool = PgPool::connect(&db_url()).await?;
        PostgresMigrator::new(pool).migrate_up().await?;
        Ok(())
    }

    async fn connect(connections: u32) -> Result<Self> {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .test_before_acquire(false)
            .connect(&db_url())
            .await?;
        let producer = Client::builder(pool.clone()).fetch_cooldown(cooldown()).build()?;
        Ok(Self { pool, producer, worker: OnceLock::new() })
    }

    async fn producer(&self) -> Result<()> {
        Ok(())
    }

    async fn enqueue_one(&self, _: &mut (), seq: i64, us: i64) -> Result<()> {
        self.producer.insert(BenchJob::new(seq, us)).opts(options(seq)).await?;
        Ok(())
    }

    async fn enqueue_many(&self, from: i64, jobs: usize, us: i64) -> Result<()> {
        let jobs = (from..).take(jobs).map(|seq| (BenchJob::new(seq, us), options(seq)));
        self.producer.insert_many(jobs.collect::<Vec<_>>()).await?;
        Ok(())
    }

    async fn start_worker(&self) -> Result<()> {
        let mut workers = Workers::new();
        workers.add_fn(run)?;
        let mut client =
            Client::builder(self.pool.clone()).workers(workers).fetch_cooldown(cooldown());
        if env_or("RV_TIMEOUT", 0) == 0 {
            client = client.without_job_timeout();
        }
        for queue in queues() {
            let poll = Duration::from_millis(env_or("RV_POLL_MS", 1000));
            let config =
                QueueConfig::new(slots(env_or("RV_WORKERS", 1000))).with_fetch_poll_interval(poll);
            client = client.queue(queue.as_str(), config);
        }
        let client = client.build()?;
        client.start()?.detach();
        self.worker.get_or_init(|| client);
        Ok(())
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    harness::run::<River>().await
}
