use super::Rate;

/// The limits of a queue across all workers, as [`Worker::limit_queue`](crate::Worker::limit_queue)
/// declares them. A part that is not given is not limited.
///
/// ```
/// use jobkit::policy::{QueueLimit, Rate};
///
/// const MAIL: QueueLimit =
///     QueueLimit::new().running(50).rate(Rate::per_minute(600)).waiting(10_000);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use = "a limit does nothing until a worker declares it"]
pub struct QueueLimit {
    /// How many jobs run at a time, 1 to 1,000,000.
    pub running: Option<u32>,
    /// How often jobs start, retries included.
    pub rate: Option<Rate>,
    /// How many jobs wait, ready or for a permit, 1 to 1,000,000.
    pub waiting: Option<u32>,
}

impl QueueLimit {
    /// No limit.
    pub const fn new() -> Self {
        Self { running: None, rate: None, waiting: None }
    }

    /// Limits how many jobs [run at a time](Self::running).
    pub const fn running(self, most: u32) -> Self {
        Self { running: Some(most), ..self }
    }

    /// Limits [how often jobs start](Self::rate).
    pub const fn rate(self, rate: Rate) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// Limits how many jobs [wait](Self::waiting). Beyond that, enqueues fail with
    /// [`QueueFull`](crate::error::QueueFull) until a tenth of it is free again. Workers count once
    /// a second, so a few more may get in; nothing that was stored is dropped.
    pub const fn waiting(self, most: u32) -> Self {
        Self { waiting: Some(most), ..self }
    }
}
