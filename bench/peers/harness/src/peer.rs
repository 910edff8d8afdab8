//! One job queue, driven through its own public API.

use std::future::Future;
use std::sync::OnceLock;

use anyhow::Result;

use crate::env_or;
use crate::latency::ended;

/// What a contestant can do. `seq` and `us` travel in the payload, for [`on_job`](crate::on_job),
/// which every handler awaits.
pub trait Peer: Sized + Send + Sync + 'static {
    /// What a producer keeps: a connection, where the contestant enqueues on one. A pool would
    /// make a round trip of its own for each job, and the ceiling's producers keep theirs.
    type Producer: Send;

    /// Makes its tables in an empty database.
    fn setup() -> impl Future<Output = Result<()>>;

    /// With at most so many connections for this process's own use.
    fn connect(connections: u32) -> impl Future<Output = Result<Self>> + Send;

    /// One more producer.
    fn producer(&self) -> impl Future<Output = Result<Self::Producer>> + Send;

    /// Enqueues one job, in a transaction of its own.
    fn enqueue_one(
        &self,
        producer: &mut Self::Producer,
        seq: i64,
        us: i64,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Enqueues so many jobs in the fastest way there is that keeps them in one transaction.
    fn enqueue_many(
        &self,
        from: i64,
        jobs: usize,
        us: i64,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Starts a worker in the background, and returns.
    fn start_worker(&self) -> impl Future<Output = Result<()>> + Send;

    /// Jobs that this process is done with: of which the handler is through, unless the contestant
    /// can tell which are written off in the database as well.
    fn done(&self) -> u64 {
        ended()
    }
}

/// The queue that is used, where there is one.
pub fn queue() -> String {
    env_or("QUEUE", "default".to_owned())
}

/// All queues that a worker serves; one, or as many as `QUEUES` says.
pub fn queues() -> &'static [String] {
    static QUEUES: OnceLock<Vec<String>> = OnceLock::new();
    QUEUES.get_or_init(|| match env_or("QUEUES", 1) {
        1 => vec![queue()],
        many => (0..many).map(|number| format!("{}_{number}", queue())).collect(),
    })
}

/// The queue of this job: each in turn.
pub fn queue_of(seq: i64) -> &'static str {
    let queues = queues();
    &queues[usize::try_from(seq).unwrap_or(0) % queues.len()]
}
