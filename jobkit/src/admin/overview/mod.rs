//! The whole in a few numbers, and what needs attention.

use std::time::Duration;

use self::statements::OverviewRow;
use crate::Error;
use crate::admin::brakes::statements::brakes;
use crate::admin::schedules::statements::overdue_schedules;
use crate::admin::stuck::statements::stuck_jobs;
use crate::admin::workers::statements::workers;
use crate::admin::{Admin, Count};
use crate::store::interval;

mod attention;
pub(super) mod statements;
mod summary;

pub use self::attention::Attention;
pub use self::summary::Overview;

/// How many things of a kind are mentioned.
const MOST: u8 = 20;

impl Admin {
    /// From how long on it needs [`Attention`] that a job is ready, that it waits for a permit of
    /// its key, or that an operation gets no further; by default five minutes.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # fn f(admin: jobkit::Admin) {
    /// let admin = admin.late_after(Duration::from_secs(60));
    /// # }
    /// ```
    #[must_use]
    pub fn late_after(mut self, late: Duration) -> Self {
        self.late = late;
        self
    }

    /// The status of the whole queue. Twelve statements, each of which looks at no more than some
    /// 10,000 rows of any table, by an index.
    pub async fn overview(&self) -> Result<Overview, Error> {
        let mut link = self.link();
        let counts = link.call(&statements::overview_counts()).await?;
        let late = interval(self.late);
        let (ready_age, mut attention) = link.call(&statements::late_queues(late)).await?;
        let (blocked_age, keys) = link.call(&statements::keys_at_limit(late)).await?;
        attention.extend(keys);
        let stuck = link.call(&stuck_jobs(None, MOST.into())).await?;
        attention.extend(stuck.into_iter().map(Attention::StuckJob));
        attention.extend(link.call(&statements::paused_backlogs()).await?);
        attention.extend(link.call(&statements::full_queues()).await?);
        let mut brakes = link.call(&brakes()).await?;
        brakes.retain(|brake| brake.paused.is_some() && brake.scope.word() != "queue");
        attention.extend(brakes.into_iter().take(MOST.into()).map(Attention::PausedScope));
        let late = link.call(&workers(None, true)).await?;
        attention.extend(late.into_iter().take(MOST.into()).map(Attention::LateWorker));
        attention.extend(link.call(&statements::lost_workers()).await?);
        let unserved = link.call(&statements::unserved_kinds(MOST.into())).await?;
        attention.extend(unserved.into_iter().filter(|kind| {
            counts.workers > 0 || !matches!(kind, Attention::Unserved { announced: true, .. })
        }));
        let overdue = link.call(&overdue_schedules(MOST.into())).await?;
        let longest = overdue.first().map(|schedule| schedule.overdue);
        let overdue = overdue.into_iter().filter(|schedule| schedule.overdue > self.late);
        attention.extend(overdue.map(Attention::OverdueSchedule));
        let operation = link.call(&statements::oldest_operation()).await?;
        attention.extend(self.counted(&counts, operation));
        link.close().await;
        attention.sort_by_key(Attention::rank);
        Ok(Overview {
            at: counts.at,
            ready: counts.ready,
            ready_age,
            running: counts.running,
            capacity: counts.capacity,
            scheduled: counts.scheduled,
            due_soon: counts.due_soon,
            next_run_at: counts.next_run_at,
            retrying: counts.retrying,
            blocked: counts.blocked,
            blocked_age,
            overdue: longest,
            dead: counts.dead,
            attention,
        })
    }

    /// What the numbers and the oldest open operation tell.
    fn counted(
        &self,
        counts: &OverviewRow,
        operation: Option<(i64, String, Duration)>,
    ) -> Vec<Attention> {
        let mut attention = Vec::new();
        let running = Count::Exactly(counts.running);
        let jobs = [counts.ready, counts.scheduled, counts.blocked];
        let jobs = jobs.into_iter().fold(running, Count::plus);
        let idle = jobs == Count::Exactly(0) && operation.is_none();
        if counts.workers == 0 && !idle {
            attention.push(Attention::NoWorker { jobs });
        }
        if let Some((operation, verb, since)) = operation.filter(|(.., since)| *since > self.late) {
            attention.push(Attention::StuckOperation { operation, verb, since });
        }
        if counts.dead_lately != Count::Exactly(0) {
            attention.push(Attention::DeadLetters { lately: counts.dead_lately });
        }
        attention
    }
}
