use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a worker process is to be: its only argument, as JSON. What is `None` is jobkit's default.
#[derive(Serialize, Deserialize, Debug, Clone)]
pub(crate) struct Program {
    /// The database as the worker sees it, perhaps through a proxy.
    pub(crate) url: String,
    /// The same database on a way that nobody spoils.
    pub(crate) effects_url: String,
    pub(crate) lease: Option<Duration>,
    pub(crate) reap_every: Option<Duration>,
    pub(crate) sweep_every: Option<Duration>,
    pub(crate) poll: Option<Duration>,
    pub(crate) call_deadline: Option<Duration>,
    /// It stops when it is told by a signal, and is killed so long after it.
    pub(crate) stop_within: Option<Duration>,
    pub(crate) listen: bool,
    pub(crate) few_connections: Option<bool>,
    /// The queues that it serves.
    pub(crate) queues: Vec<String>,
    /// Jobs of a queue at a time, of each worker.
    pub(crate) concurrency: usize,
    /// `Worker`s in the process.
    pub(crate) workers: usize,
    /// Threads of the runtime; with none the main thread is all that there is.
    pub(crate) threads: usize,
    /// The file in which it logs, from INFO on; else the standard error, as `RUST_LOG` says.
    pub(crate) log: Option<PathBuf>,
    /// Where the diaries of all processes are, if they keep any.
    pub(crate) diary: Option<PathBuf>,
}
