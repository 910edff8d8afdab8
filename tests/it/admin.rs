//! What an operator may see and do, in every state a job can be in.

mod bulk;
mod bulk_races;
mod explain;
mod jobs;
mod kit;
mod queues;
mod semaphores;
