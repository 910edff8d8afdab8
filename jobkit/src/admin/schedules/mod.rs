//! Schedules: jobs that recur.

use crate::admin::Admin;
use crate::admin::AdminError;
use crate::limits::{self, NAME_BYTES};

mod edit;
mod reference;
mod schedule;
pub(super) mod statements;

pub use self::edit::{ScheduleEdit, ScheduleError, ScheduledJob};
pub use self::reference::ScheduleRef;
pub use self::schedule::{
    OverdueSchedule, PausedSchedule, ScheduleDetail, SchedulePause, ScheduleRun, ScheduleSummary,
};

impl Admin {
    /// 1 to 500 schedules by name, after this one (`""`: from the first).
    pub async fn schedules(
        &self,
        after: &str,
        limit: u32,
    ) -> Result<Vec<ScheduleSummary>, AdminError> {
        limits::text("name of a schedule", after, NAME_BYTES)?;
        self.ask(&statements::schedules(after, limit.clamp(1, 500).into(), None)).await
    }
}
