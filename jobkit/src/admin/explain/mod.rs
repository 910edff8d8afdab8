//! Why a job does not run.

use self::statements::{Ahead, EndedJob, LiveJob};
use crate::JobId;
use crate::admin::AdminError;
use crate::admin::batches::BatchSummary;
use crate::admin::batches::statements::batches;
use crate::admin::jobs::JobRef;
use crate::admin::limits::{Limit, Scope};
use crate::admin::stuck::statements::stuck_jobs;
use crate::policy::Rate;

mod awaits;
mod hands;
mod held;
mod key;
mod pace;
mod reason;
pub(super) mod statements;

pub use self::awaits::BatchAwaited;
pub use self::hands::InHand;
pub use self::key::KeyUse;
pub use self::pace::KeyPace;
pub use self::reason::Reason;
pub(super) use self::reason::Time;

/// Why a job does not run, as [`JobRef::explain`] finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The first reason, in words.
    pub sentence: String,
    /// All reasons that apply, the most important first; at least one.
    pub reasons: Vec<Reason>,
}

impl JobRef<'_> {
    /// Explains why the job does not run, or says that it runs or has ended; `None` if it never
    /// existed or is no longer kept.
    ///
    /// It reads few rows however large the backlog is: counts end at 10,000. Changes between its
    /// statements (five for a live job) may make the numbers inconsistent.
    pub async fn explain(self) -> Result<Option<Explanation>, AdminError> {
        let Self { admin, id: job } = self;
        let mut link = admin.link();
        let stuck = link.call(&stuck_jobs(Some(job.0), 1)).await?;
        let reasons = match link.call(&statements::explain_job(job.0)).await? {
            Some(live) if live.runs.is_some() => Some(running(&live)),
            Some(live) if live.awaits.is_some() => {
                let batch = link.call(&batches(live.awaits, None, false, 1)).await?.pop();
                let reasons = batch.iter().flat_map(|batch| awaits(job, batch));
                let due = scheduled(&live, false).filter(|_| batch.is_none());
                Some(cancel_requested(&live).into_iter().chain(reasons).chain(due).collect())
            }
            Some(live) => {
                let ahead = link.call(&statements::ahead(job, &live)).await?;
                let ends = ends(&live);
                let held = link.call(&statements::held(&live.queue, &live.kind)).await?;
                let hands = link.call(&statements::hands(job.0)).await?;
                Some(waiting(live, ahead, held, hands).into_iter().chain(ends).collect())
            }
            None => link
                .call(&statements::explain_ended(job.0))
                .await?
                .map(|ended| vec![of_ended(ended)]),
        };
        link.close().await;
        Ok(reasons.map(|mut reasons| {
            reasons.splice(..0, stuck.into_iter().map(Reason::Stuck));
            let sentence = reasons.first().map(Reason::to_string).unwrap_or_default();
            Explanation { sentence, reasons }
        }))
    }
}

/// What a callback waits for.
fn awaits(job: JobId, batch: &BatchSummary) -> Vec<Reason> {
    let unclosed = Reason::Unclosed { batch: batch.id };
    let mut reasons = vec![Reason::AwaitsBatch(BatchAwaited::of(job, batch))];
    if batch.closed_at.is_none() {
        // Nothing else keeps it open.
        let at = usize::from(batch.counts.open() > 0);
        reasons.insert(at, unclosed);
    }
    if batch.held > 0 {
        reasons.push(Reason::HeldByDead { batch: batch.id, dead: batch.held });
    }
    reasons
}

fn running(job: &LiveJob) -> Vec<Reason> {
    let runs = job.runs.map(|(worker, since)| match job.waits {
        true => Reason::ClaimedAhead { worker },
        false => Reason::Running { worker, since, progress: job.progress.clone() },
    });
    runs.into_iter().chain(cancel_requested(job)).collect()
}

fn cancel_requested(job: &LiveJob) -> Option<Reason> {
    job.cancel_requested_at.map(|since| Reason::CancelRequested { since })
}

/// When it was first told to wait, and until when it is retried.
fn ends(job: &LiveJob) -> impl Iterator<Item = Reason> + use<> {
    let expires = job.expires_at.map(|at| Reason::Expires { at });
    let told = job.waits_since.map(|since| Reason::ToldToWait { since });
    let retried = job.retry_until.map(|at| Reason::RetriedUntil { at });
    told.into_iter().chain(expires).chain(retried)
}

/// That nobody can run it comes before waiting for its turn: permits are granted only to jobs that
/// are served.
fn waiting(job: LiveJob, ahead: Ahead, held: Vec<Limit>, hands: Vec<InHand>) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = cancel_requested(&job).into_iter().collect();
    if let Some(holder) = job.follows {
        reasons.push(Reason::Follows { job: JobId(holder) });
        reasons.extend(job.asked_for.map(|until| Reason::Scheduled { until }));
        return reasons;
    }
    reasons.extend(scheduled(&job, false));
    let (paused, limited): (Vec<_>, Vec<_>) = held.into_iter().partition(|it| it.paused.is_some());
    reasons.extend(paused.into_iter().filter_map(paused_by));
    reasons.extend(unserved(&job).chain((!hands.is_empty()).then_some(Reason::InHand(hands))));
    reasons.extend(scheduled(&job, true));
    if job.scheduled.is_some() {
        return reasons;
    }
    let key = job.key.map(|(group, key)| KeyUse {
        group,
        key,
        limit: ahead.limit,
        taken: ahead.taken,
        holders: ahead.holders.into_iter().map(JobId).collect(),
    });
    let position = ahead.place.max(1);
    let queue = job.queue;
    match key {
        Some(key) if job.blocked => {
            let blocked = ahead.blocked.max(position);
            let (group, name) = (key.group.clone(), key.key.clone());
            reasons.extend(ahead.next.map(|next| {
                let rate = ahead.every.zip(ahead.burst).map(|(every, burst)| Rate { every, burst });
                let paused_until = ahead.paused_until;
                Reason::Paced(KeyPace { group, key: name, rate, paused_until, next })
            }));
            reasons.push(Reason::Blocked { position, blocked, key });
            return reasons;
        }
        Some(key) if job.without_permit == Some(true) && key.taken >= key.limit => {
            reasons.push(Reason::AtLimit(key));
        }
        _ => {}
    }
    reasons.extend(limited.into_iter().map(Reason::Limited));
    if job.knowing > 0 && ahead.running >= job.slots {
        let (running, slots) = (ahead.running, job.slots);
        reasons.push(Reason::Busy { queue: queue.clone(), running, slots });
    }
    reasons.push(Reason::Ahead { queue, jobs: ahead.ahead });
    reasons
}

/// The due time of a scheduled job, past or not.
fn scheduled(job: &LiveJob, due: bool) -> Option<Reason> {
    let (until, is_due) = job.scheduled?;
    (is_due == due).then_some(Reason::Scheduled { until })
}

fn paused_by(limit: Limit) -> Option<Reason> {
    let Limit { scope, paused, .. } = limit;
    paused.map(|pause| Reason::Paused { scope, pause })
}

/// Why no worker would run this job even on its turn.
fn unserved(job: &LiveJob) -> impl Iterator<Item = Reason> {
    let queue = job.queue.clone();
    let scope = Scope::Queue(queue.clone());
    let paused = job.pause.clone().map(|pause| Reason::Paused { scope, pause });
    let (kind, version) = (job.kind.clone(), job.version);
    let unserved = match (job.serving, job.knowing) {
        (0, _) => Some(Reason::Unserved { queue }),
        (_, 0) if version > 1 || job.knows_kind => {
            Some(Reason::UnknownVersion { queue, kind, version })
        }
        (_, 0) => Some(Reason::UnknownKind { queue, kind }),
        _ => None,
    };
    paused.into_iter().chain(unserved)
}

fn of_ended(job: EndedJob) -> Reason {
    let EndedJob { dead, ending, why, at } = job;
    if dead {
        let error = why.unwrap_or_default().lines().next().unwrap_or_default().to_owned();
        return Reason::Dead { at, reason: ending, error };
    }
    match &*ending {
        "finish" => Reason::Finished { at },
        "cancel" => Reason::Cancelled { at },
        _ => Reason::Discarded { at, reason: why },
    }
}
