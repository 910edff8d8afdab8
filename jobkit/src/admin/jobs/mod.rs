//! Jobs: searching them, looking one up, and changing one.

mod detail;
mod enqueue;
pub(super) mod list;
mod query;
mod reference;
mod report;
pub(super) mod statements;
mod summary;

pub use self::detail::JobDetail;
pub use self::enqueue::{ByKind, ByNameError};
pub use self::query::{JobQuery, Listing, QueryError};
pub use self::reference::{Cancelled, JobRef, Rescheduled};
pub use self::report::{AttemptReport, Checkpoint, KeptStep, LogLine, Progress};
pub use self::summary::{CursorError, Ended, JobCursor, JobPage, JobSummary, State};
