//! graphile_worker 0.14.1. It deletes finished jobs and leaves nothing behind.
//!
//! Its best: a local queue of 5,000 and completions batched within 5 ms. A queue is a way to
//! serialize jobs there, so QUEUE chooses between two tasks, and QUEUES means nothing.
//! Knobs: GW_CONC, GW_LOCALQ (0 = none), GW_LOCALQS, GW_BATCH_MS (0 = none), GW_POLL_MS.

use std::time::Duration;

use anyhow::Result;
use graphile_worker::{
    Database, IntoTaskHandlerResult, JobSpec, LocalQueueConfig, RawJobSpec, TaskHandler,
    WorkerContext, WorkerOptions, WorkerUtils,
};
use harness::{Peer, db_url, env_or, on_job, queue, slots};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

const SCHEMA: &str = "graphile_worker";

#[derive(Clone, Serialize, Deserialize)]
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

impl TaskHandler for BenchJob {
    const IDENTIFIER: &'static str = "bench_job";

    async fn run(self, _: WorkerContext) -> impl IntoTaskHandlerResult {
        on_job(self.seq, self.us).await;
        Ok::<(), String>(())
    }
}

/// What an idle worker waits for.
#[derive(Clone, Serialize, Deserialize)]
struct OtherJob {}

impl TaskHandler for OtherJob {
    const IDENTIFIER: &'static str = "other_job";

    async fn run(self, _: WorkerContext) -> impl IntoTaskHandlerResult {
        Ok::<(), String>(())
    }
}

struct Graphile {
    pool: PgPool,
    client: WorkerUtils,
}

impl Peer for Graphile {
    /// It takes its pool only.
    type Producer = ();

    async fn setup() -> Result<()> {
        let pool = PgPool::connect(&db_url()).await?;
        WorkerUtils::new(Database::from(pool), SCHEMA).migrate().await?;
        Ok(())
    }

    async fn connect(connections: u32) -> Result<Self> {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .test_before_acquire(false)
            .connect(&db_url())
            .await?;
        Ok(Self { client: WorkerUtils::new(Database::from(pool.clone()), SCHEMA), pool })
    }

    async fn producer(&self) -> Result<()> {
        Ok(())
    }

    async fn enqueue_one(&self, _: &mut (), seq: i64, us: i64) -> Result<()> {
        self.client.add_job(BenchJob::new(seq, us), JobSpec::default()).await?;
        Ok(())
    }

    async fn enqueue_many(&self, from: i64, jobs: usize, us: i64) -> Result<()> {
        let job = |seq| {
            let payload = serde_json::to_value(BenchJob::new(seq, us))?;
            let identifier = BenchJob::IDENTIFIER.to_owned();
            Ok(RawJobSpec { identifier, payload, spec: JobSpec::default() })
        };
        let jobs = (from..).take(jobs).map(job).collect::<Result<Vec<_>>>()?;
        self.client.add_raw_jobs(&jobs).await?;
        Ok(())
    }

    async fn start_worker(&self) -> Result<()> {
        let mut options = WorkerOptions::default()
            .pg_pool(self.pool.clone())
            .schema(SCHEMA)
            .concurrency(slots(env_or("GW_CONC", 500)))
            .poll_interval(Duration::from_millis(env_or("GW_POLL_MS", 1000)));
        options = match &*queue() {
            "default" => options.define_job::<BenchJob>(),
            _ => options.define_job::<OtherJob>(),
        };
        let batch = env_or("GW_BATCH_MS", 5);
        if batch > 0 {
            options = options.complete_job_batch_delay(Duration::from_millis(batch));
        }
        let local = env_or("GW_LOCALQ", 5000);
        if local > 0 {
            let mut config = LocalQueueConfig::default().with_size(local);
            config.queue_count = env_or("GW_LOCALQS", 1);
            options = options.local_queue(config);
        }
        let worker = options.init().await?;
        tokio::spawn(async move { worker.run().await.map_err(|error| eprintln!("{error}")) });
        Ok(())
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    harness::run::<Graphile>().await
}
