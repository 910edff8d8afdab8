//! A schedule that is declared in code.

use super::{Schedule, Times};
use crate::enqueue::Draft;
use crate::error::EnqueueError;
use crate::limits::{self, NAME_BYTES};
use crate::store::{NewJob, NewSchedule, interval_text};

/// A schedule of [`Worker::schedule`](crate::Worker::schedule), or of `#[job(schedule = "…")]`.
pub(crate) struct Declaration {
    pub(crate) name: String,
    schedule: Schedule,
    job: Result<NewJob, EnqueueError>,
}

impl Declaration {
    pub(crate) fn new(name: String, schedule: Schedule, job: Draft) -> Self {
        Self { name, schedule, job: job.0 }
    }

    /// What to store, except the first instant of its times.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub(crate) fn check(self) -> Result<(Times, NewSchedule), String> {
        let Self { name, schedule, job } = self;
        let wrong = |why: &dyn std::fmt::Display| format!("the schedule `{name}`: {why}");
        limits::name("name of a schedule", &name, NAME_BYTES).map_err(|error| wrong(&error))?;
        let times = schedule.check().map_err(|why| wrong(&why))?;
        let job = job.map_err(|error| wrong(&error))?;
        if job.after.is_some() || job.at.is_some() {
            return Err(wrong(
                &"its job runs at each instant of the schedule: leave out `after` and `at`",
            ));
        }
        if job.unique.is_some() {
            return Err(wrong(
                &"its job has a unique key, for which the schedule would have to wait: use \
                  `Overlap::SkipIfRunning`, or schedule a job that enqueues it",
            ));
        }
        let (catch_up, catch_up_max, window) = schedule.catch_up.stored();
        let stored = NewSchedule {
            times: times.to_string(),
            next_at: None,
            catch_up,
            catch_up_max,
            catch_up_window: interval_text(window),
            overlap: schedule.overlap.stored(),
            jitter: interval_text(schedule.jitter),
            kind: job.kind.to_owned(),
            version: job.version,
            queue: job.queue,
            priority: job.priority,
            max_attempts: job.max_attempts,
            concurrency_group: job.group.map(str::to_owned),
            concurrency_key: job.key,
            dead_letter_key: job.dead_letter_key,
            args: Box::<str>::from(job.args).into_string(),
            tags: Some(job.tags).filter(|tags| !tags.is_empty()),
            metadata: job.metadata,
            name,
        };
        Ok((times, stored))
    }
}
