//! What jobkit keeps when processes, networks and servers fail: worker processes are killed, frozen
//! and cut off, servers are crashed, and nothing may be lost, done twice or charged unduly.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agreement;
mod ahead;
mod batches;
mod changes;
mod copies;
mod crowd;
mod cut_off;
mod dead_letters;
mod diary;
mod firing;
mod gathered;
mod hosts;
mod jobs;
mod keyed;
mod kill;
mod killed;
mod limits;
mod nemesis;
mod operations;
mod oracle;
mod outage;
mod pauses;
mod permits;
mod poison;
mod process;
mod program;
mod rates;
mod restart;
mod siege;
mod stage;
mod stops;
mod torture;
mod waiting;
mod written;
