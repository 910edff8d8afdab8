//! A job with a unique key in each place where a job can be.

use jobkit::unique::While;
use jobkit::{Enqueue, Job, JobContext, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

use crate::races::calls::{Scan, claim_where, settle};

/// Unique among all of its kind; some wait for a permit as well.
#[derive(Serialize, Deserialize, Clone)]
#[job(unique_key = "k", concurrency_key = self.slot, retention = none)]
pub(super) struct Touch {
    pub(super) by: String,
    pub(super) slot: Option<i64>,
}

impl Job for Touch {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// Where the job of the key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Nowhere,
    Ready,
    Scheduled,
    Running,
    Retrying,
    Snoozed,
    Blocked,
    WithPermit,
    Dead,
}

pub(super) const STAGES: [Stage; 9] = [
    Stage::Nowhere,
    Stage::Ready,
    Stage::Scheduled,
    Stage::Running,
    Stage::Retrying,
    Stage::Snoozed,
    Stage::Blocked,
    Stage::WithPermit,
    Stage::Dead,
];

impl Stage {
    /// Whether a job there has its key, as the decision page's table says.
    pub(super) fn holds(self, during: While) -> bool {
        match self {
            Self::Nowhere | Self::Dead => false,
            Self::Ready | Self::Scheduled | Self::Blocked | Self::WithPermit => true,
            Self::Running => during != While::Queued,
            Self::Retrying | Self::Snoozed => during != While::Running,
        }
    }

    /// Whether a job that has its key there may be changed.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::Ready | Self::Scheduled | Self::Retrying | Self::Snoozed)
    }

    /// A duplicate of what is here asks for the same permit.
    pub(super) fn touch(self, by: &str) -> Touch {
        let slot = matches!(self, Self::Blocked | Self::WithPermit).then_some(1);
        Touch { by: by.to_owned(), slot }
    }

    fn place(self) -> &'static str {
        match self {
            Self::Nowhere | Self::Dead => "",
            Self::Ready => "ready",
            Self::Scheduled | Self::Retrying | Self::Snoozed => "scheduled",
            Self::Running => "claimed",
            Self::Blocked => "blocked",
            Self::WithPermit => "ready with permit",
        }
    }

    /// Brings a job of the key here, in front of a worker that does nothing. Its id.
    pub(super) async fn set(self, lab: &Lab, during: While) -> Option<i64> {
        let job = self.touch("before").options().unique_while(during);
        let job = async |lab: &Lab| job.enqueue(lab.pool()).await.unwrap().0;
        let id = match self {
            Self::Nowhere => return None,
            Self::Ready | Self::Scheduled => job(lab).await,
            Self::Blocked | Self::WithPermit => {
                let first = self.touch("first").options().unique_key("first");
                let first = first.enqueue(lab.pool()).await.unwrap().0;
                let n = claim(lab).await;
                let id = job(lab).await;
                claim(lab).await;
                if self == Self::WithPermit {
                    lab.run(&settle(1, n, first, "finish")).await;
                }
                id
            }
            Self::Running | Self::Retrying | Self::Snoozed | Self::Dead => {
                let id = job(lab).await;
                let n = claim(lab).await;
                match self {
                    Self::Retrying => lab.run(&settle(1, n, id, "retry")).await,
                    Self::Snoozed => lab.run(&settle(1, n, id, "snooze")).await,
                    Self::Dead => lab.run(&settle(1, n, id, "bury")).await,
                    _ => {}
                }
                id
            }
        };
        if self == Self::Scheduled {
            lab.run(&format!("select jobkit.reschedule(array[{id}], now() + interval '1 h')"))
                .await;
        }
        assert_eq!(place(lab, id).await, self.place(), "{self:?}");
        Some(id)
    }
}

/// The name of the place of a live job.
pub(super) async fn place(lab: &Lab, job: i64) -> String {
    lab.value(&format!(
        "select coalesce(string_agg(p.place || case when not r.without_permit
            then ' with permit' else '' end, ', '), '')
        from jobkit.places p left join jobkit.ready r on r.job_id = p.job_id
        where p.job_id = {job}"
    ))
    .await
}

/// A lab with a worker that claims when it is told to.
pub(super) async fn prepare(lab: &Lab) {
    // However long it takes, no job is late.
    lab.mutate("key_holder", "interval '5 seconds'", "interval '1 day'").await;
    lab.run(
        "create sequence turns;
        insert into jobkit.kinds (kind, queue, priority, max_attempts)
        values ('touch', 'default', 0, 3);
        select jobkit.announce_limits(
                '[{\"scope\": \"group\", \"name\": \"touch\", \"running\": 1}]')",
    )
    .await;
    start_worker(lab).await;
}

/// The worker of these tests, which does nothing by itself.
pub(super) async fn start_worker(lab: &Lab) {
    lab.run(
        "insert into jobkit.workers (id, name, queues, kinds, lease, lease_until)
        values (1, 'w', '{default}', '{touch}', '1 day', now() + interval '1 day')",
    )
    .await;
}

/// Claims what is ready, and says as which claim.
pub(super) async fn claim(lab: &Lab) -> i64 {
    let n = lab.value("select nextval('turns')").await;
    lab.run(&claim_where(1, n, &Scan { kinds: "touch", ..Scan::default() })).await;
    n
}

/// Forgets every live job, and every dead one.
pub(super) async fn clear(lab: &Lab) {
    let waiting = ["ready", "scheduled", "blocked_executions", "claims", "permits", "semaphores"];
    let others = ["attempts", "unique_keys", "dead_letters", "jobs"];
    let deletes = waiting.iter().chain(&others).map(|table| format!("delete from jobkit.{table};"));
    lab.run(&deletes.collect::<String>()).await;
}
