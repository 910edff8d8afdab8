use std::fmt;

use chrono::{DateTime, Utc};

use super::reason::Time;

/// A session whose open transaction holds a waiting job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InHand {
    /// The session's process, as `pg_terminate_backend` takes it.
    pub pid: i32,
    /// The name of the application, if it gave one.
    pub application: String,
    /// When the transaction began, if the calling role may see it.
    pub since: Option<DateTime<Utc>>,
}

impl fmt::Display for InHand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {}", self.pid)?;
        if !self.application.is_empty() {
            write!(f, " ({})", self.application)?;
        }
        self.since.as_ref().map_or(Ok(()), |since| write!(f, " since {}", Time(since)))
    }
}

/// The sessions that hold a waiting job.
pub(super) fn in_hand(sessions: &[InHand], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "Not claimed while open transactions hold it or have enqueued a duplicate")?;
    for (at, session) in sessions.iter().enumerate() {
        write!(f, "{} {session}", if at == 0 { ":" } else { "," })?;
    }
    Ok(())
}
