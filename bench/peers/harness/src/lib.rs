//! What the contestants' programs have in common: how they talk to `scripts/bench`, and what they
//! are asked to do.
//!
//! A program prints `START`, waits for a line, does the measured work, prints `END <json>`, waits
//! for a line, and exits; the benchmark samples CPU, WAL and transactions at both marks. While
//! `work` runs it prints `DONE <jobs>` as that changes, until it is told to stop. Programs in other
//! languages speak the same (`../node/harness.mjs`).

mod latency;
mod load;
mod peer;
mod process;
mod protocol;
mod stream;
mod tasks;

pub use crate::latency::{now_us, on_job};
pub use crate::load::{Line, lines, slots};
pub use crate::peer::{Peer, queue, queue_of, queues};
pub use crate::process::{arg, db_url, env_or, pg_cpu, proc_cpu};
pub use crate::tasks::run;
