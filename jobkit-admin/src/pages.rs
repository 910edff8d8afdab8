//! The pages: one file for each.

pub(crate) mod attention;
pub(crate) mod audit;
pub(crate) mod batches;
pub(crate) mod concurrency;
pub(crate) mod dead_groups;
pub(crate) mod dead_letter;
pub(crate) mod dead_letters;
pub(crate) mod job;
pub(crate) mod jobs;
pub(crate) mod kinds;
pub(crate) mod limits;
pub(crate) mod measured;
pub(crate) mod operations;
pub(crate) mod overview;
pub(crate) mod preferences;
pub(crate) mod queues;
pub(crate) mod schedule_form;
pub(crate) mod schedules;
pub(crate) mod semaphore;
pub(crate) mod system;
pub(crate) mod topics;
pub(crate) mod workers;
