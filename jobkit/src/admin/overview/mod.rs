//! The overview: a few numbers, and what needs attention.

use std::time::Duration;

use self::statements::{OverviewRow, StandbyAwaited};
use crate::admin::AdminError;
use crate::admin::limits::statements::of_scopes;
use crate::admin::schedules::statements::{overdue_schedules, paused_schedules};
use crate::admin::stuck::statements::stuck_jobs;
use crate::admin::workers::statements::workers;
use crate::admin::{Admin, Count};
use crate::store::{Link, interval};

mod acknowledged;
mod attention;
mod long;
pub(super) mod statements;
mod subject;
mod summary;
mod words;

pub use self::acknowledged::{Acknowledged, AttentionRef};
pub use self::attention::{Attention, Hold};
pub use self::summary::Overview;

/// How many items of a name are listed.
const MOST: u32 = 20;

/// How many are read, since some may be acknowledged.
const LOOKED_AT: i64 = 100;

impl Admin {
    /// After how long something needs [`Attention`]: a job that is ready, waits for a permit of its
    /// key or runs for longer than others of its kind, an overdue schedule, or an operation without
    /// progress. Five minutes by default.
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

    /// The status of the whole system. It takes some fifteen statements, each of which reads at
    /// most some 10,000 rows of any table, by an index.
    pub async fn overview(&self) -> Result<Overview, AdminError> {
        let mut link = self.link();
        let counts = link.call(&statements::overview_counts()).await?;
        let late = interval(self.late);
        let (ready_age, mut found) = link.call(&statements::late_queues(late)).await?;
        let (blocked_age, keys) = link.call(&statements::held_keys(late)).await?;
        found.extend(keys);
        found.extend(paused(&mut link).await?);
        found.extend(link.call(&statements::full_queues()).await?);
        found.extend(link.call(&statements::unclosed_batches()).await?);
        let stuck = link.call(&stuck_jobs(None, LOOKED_AT)).await?;
        found.extend(stuck.into_iter().map(Attention::StuckJob));
        let silent = link.call(&workers(None, true)).await?;
        found.extend(silent.into_iter().take(LOOKED_AT as usize).map(Attention::LateWorker));
        found.extend(link.call(&statements::lost_workers(late)).await?);
        found.extend(link.call(&statements::unserved_kinds(LOOKED_AT)).await?);
        found.extend(long::long_runs(&mut link, self.late).await?);
        let overdue = link.call(&overdue_schedules(LOOKED_AT)).await?;
        let longest = overdue.first().map(|schedule| schedule.overdue);
        let overdue = overdue.into_iter().filter(|schedule| schedule.overdue > self.late);
        found.extend(overdue.map(Attention::OverdueSchedule));
        let operation = link.call(&statements::oldest_operation()).await?;
        self.count(&counts, operation, &mut found);
        let standby = link.call(&statements::standby_awaited()).await?;
        found.extend(standby.map(Attention::from));
        let known = link.call(&statements::acknowledged()).await?;
        link.close().await;
        found.sort_by_key(Attention::rank);
        let (mut attention, acknowledged) = acknowledged::parted(found, known, counts.at);
        let mut told = [0; Attention::NAMES.len()];
        attention.retain(|item| {
            told[item.rank()] += 1;
            told[item.rank()] <= MOST
        });
        Ok(counts.overview(ready_age, blocked_age, longest, attention, acknowledged))
    }

    /// Only [`Attention::StandbyAwaited`], if commits wait for a standby: calls that take locks
    /// then fail with timeouts.
    pub async fn standby_awaited(&self) -> Result<Option<Attention>, AdminError> {
        let awaited = self.ask(&statements::standby_awaited()).await?;
        Ok(awaited.map(Attention::from))
    }

    /// Adds items that follow from the numbers and the oldest open operation. Without a worker, the
    /// consequences of that are left out.
    fn count(
        &self,
        counts: &OverviewRow,
        operation: Option<(i64, String, Duration)>,
        found: &mut Vec<Attention>,
    ) {
        let claimed = Count::Exactly(counts.running + counts.stopping + counts.gone);
        let jobs = [counts.ready, counts.scheduled, counts.blocked];
        let jobs = jobs.into_iter().fold(claimed, Count::plus);
        let nothing = [jobs, counts.schedules].iter().all(|number| *number == Count::Exactly(0));
        if counts.workers == 0 && !(nothing && operation.is_none()) {
            let silent = found.iter().filter_map(|item| match item {
                Attention::LateWorker(worker) if worker.lapsed => Some(worker.name.clone()),
                _ => None,
            });
            found.push(Attention::NoWorker {
                jobs,
                schedules: counts.schedules,
                operation: operation.is_some(),
                silent: silent.take(5).collect(),
                since: counts.ended_at,
            });
            found.retain(|item| !follows(item, counts.announced));
        }
        if let Some((operation, verb, since)) = operation.filter(|(.., since)| *since > self.late) {
            found.push(Attention::StuckOperation { operation, verb, since });
        }
        if let Some(last) = counts.died_at {
            found.push(Attention::DeadLetters { lately: counts.dead_lately, last });
        }
    }
}

impl From<StandbyAwaited> for Attention {
    fn from(StandbyAwaited { sessions, longest, names }: StandbyAwaited) -> Self {
        Self::StandbyAwaited { sessions, longest, names }
    }
}

/// Whether it is a consequence of having no live worker. A kind that no binary has announced, where
/// others were, is missing in any case.
fn follows(item: &Attention, others_announced: bool) -> bool {
    match item {
        Attention::LateWorker(worker) => worker.lapsed,
        Attention::Unserved { announced, .. } => *announced || !others_announced,
        Attention::OverdueSchedule(_) | Attention::HeldKey { .. } => true,
        _ => false,
    }
}

/// What operators have paused.
async fn paused(link: &mut Link) -> Result<Vec<Attention>, AdminError> {
    let mut found = link.call(&statements::paused_backlogs()).await?;
    let limits = link.call(&of_scopes(&["all", "kind"], None, true)).await?;
    let paused = limits.into_iter().take(LOOKED_AT as usize).filter_map(|limit| {
        let (scope, pause) = (limit.scope, limit.paused?);
        Some(Attention::PausedScope { scope, pause })
    });
    found.extend(paused);
    let schedules = link.call(&paused_schedules(LOOKED_AT)).await?;
    found.extend(schedules.into_iter().map(Attention::PausedSchedule));
    Ok(found)
}

impl OverviewRow {
    fn overview(
        self,
        ready_age: Option<Duration>,
        blocked_age: Option<Duration>,
        overdue: Option<Duration>,
        attention: Vec<Attention>,
        acknowledged: Vec<Acknowledged>,
    ) -> Overview {
        Overview {
            at: self.at,
            ready: self.ready,
            ready_age,
            running: self.running,
            stopping: self.stopping,
            gone: self.gone,
            capacity: self.capacity,
            scheduled: self.scheduled,
            due_soon: self.due_soon,
            next_run_at: self.next_run_at,
            retrying: self.retrying,
            blocked: self.blocked,
            blocked_age,
            overdue,
            dead: self.dead,
            open_batches: self.open_batches,
            batch_tallies: self.batch_tallies,
            attention,
            acknowledged,
        }
    }
}
