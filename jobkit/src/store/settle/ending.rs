/// What became of a job instead of what was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The claim does not hold the job any more; nothing was written.
    Lost,
    /// A retry or a release found no attempt left.
    Buried,
    /// A wait had no time left: the job is retried, and an attempt was charged.
    Charged,
    /// The job was marked as cancelled.
    Cancelled,
    /// It should have run again, but another job has its unique key by now, or ran in its place.
    Superseded,
}

impl Ending {
    /// Parses a settle's answer.
    pub(super) fn of(text: &str) -> Self {
        match text {
            "bury" => Self::Buried,
            "retry" => Self::Charged,
            "cancel" => Self::Cancelled,
            "supersede" => Self::Superseded,
            _ => Self::Lost,
        }
    }
}
