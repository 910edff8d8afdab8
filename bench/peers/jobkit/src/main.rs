//! jobkit. It leaves nothing behind with `retention = none`; with KEEP=1 finished jobs are kept for
//! a day, its default.
//!
//! Knobs: KEEP, CONCURRENCY (handlers to a queue), LISTEN (0 = it only polls), POLL_MS.

use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Result;
use harness::{Line, Peer, db_url, env_or, lines, on_job, queue_of, queues, slots};
use jobkit::{Enqueue, Job, JobContext, Worker, WorkerHandle, job};
use serde::{Deserialize, Serialize};
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgPool, Postgres};

#[derive(Serialize, Deserialize)]
struct Payload {
    seq: i64,
    us: i64,
    email: String,
    template: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Line>,
}

impl Payload {
    fn new(seq: i64, us: i64) -> Self {
        Self {
            seq,
            us,
            email: format!("user{seq}@example.com"),
            template: "welcome".to_owned(),
            lines: lines(seq),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[job(retention = none)]
struct Forgotten(Payload);

#[derive(Serialize, Deserialize)]
#[job]
struct Kept(Payload);

impl Job for Forgotten {
    async fn run(self, _: JobContext) -> jobkit::Result {
        on_job(self.0.seq, self.0.us).await;
        Ok(())
    }
}

impl Job for Kept {
    async fn run(self, _: JobContext) -> jobkit::Result {
        on_job(self.0.seq, self.0.us).await;
        Ok(())
    }
}

struct Jobkit {
    pool: PgPool,
    keep: bool,
    worker: OnceLock<WorkerHandle>,
}

impl Peer for Jobkit {
    type Producer = PoolConnection<Postgres>;

    async fn setup() -> Result<()> {
        let pool = PgPool::connect(&db_url()).await?;
        jobkit::migrate(&pool).await?;
        Ok(())
    }

    async fn connect(connections: u32) -> Result<Self> {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .test_before_acquire(false)
            .connect(&db_url())
            .await?;
        Ok(Self { pool, keep: env_or("KEEP", 0) == 1, worker: OnceLock::new() })
    }

    async fn producer(&self) -> Result<Self::Producer> {
        Ok(self.pool.acquire().await?)
    }

    async fn enqueue_one(&self, producer: &mut Self::Producer, seq: i64, us: i64) -> Result<()> {
        let (payload, queue) = (Payload::new(seq, us), queue_of(seq));
        if self.keep {
            Kept(payload).options().queue(queue).enqueue(&mut **producer).await?;
        } else {
            Forgotten(payload).options().queue(queue).enqueue(&mut **producer).await?;
        }
        Ok(())
    }

    async fn enqueue_many(&self, from: i64, jobs: usize, us: i64) -> Result<()> {
        let jobs = (from..).take(jobs).map(|seq| (Payload::new(seq, us), queue_of(seq)));
        if self.keep {
            let jobs = jobs.map(|(payload, queue)| Kept(payload).options().queue(queue));
            jobkit::enqueue_all(jobs, &self.pool).await?;
        } else {
            let jobs = jobs.map(|(payload, queue)| Forgotten(payload).options().queue(queue));
            jobkit::enqueue_all(jobs, &self.pool).await?;
        }
        Ok(())
    }

    async fn start_worker(&self) -> Result<()> {
        let mut worker = Worker::new(self.pool.clone())
            .listen(env_or("LISTEN", 1) == 1)
            .poll(Duration::from_millis(env_or("POLL_MS", 1000)));
        for queue in queues() {
            worker = worker.queue(queue.as_str(), slots(env_or("CONCURRENCY", 2000)));
        }
        let worker = worker.start().await?;
        self.worker.get_or_init(|| worker);
        Ok(())
    }

    /// Written off in the database.
    fn done(&self) -> u64 {
        self.worker.get().map_or(0, |worker| worker.counts().finished)
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    harness::run::<Jobkit>().await
}
