//! What an operator may see and do, in every state a job can be in.

pub(crate) mod astray;
mod audit;
mod batches;
mod bulk;
mod bulk_races;
pub(crate) mod carried_out;
mod connections;
mod dead_letters;
mod doctor;
mod explain;
mod jobs;
mod kit;
mod list;
mod measures;
mod operations;
mod overview;
mod queues;
mod redact;
mod replay;
mod schedules;
mod selected;
mod semaphores;
mod words;
