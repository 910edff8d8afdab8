//! Reports of running attempts: progress and log lines, which the heartbeat writes.

#[cfg(feature = "logs")]
mod log;

use std::collections::HashMap;
use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(feature = "logs")]
pub use self::log::AttemptLog;
#[cfg(feature = "logs")]
pub(crate) use self::log::logged_by;
use crate::context::{Attempt, Listener, Reported};
use crate::hooks::Outcome;
use crate::lock::Lock;
use crate::store::{Ending, Settlement};

/// Without the feature nothing is logged by anybody.
#[cfg(not(feature = "logs"))]
pub(crate) fn logged_by(_: &Arc<Attempt>) {}

/// The approximate maximum of bytes in one statement.
const STATEMENT: usize = 1024 * 1024;
/// The maximum of bytes of ended attempts that wait for the next heartbeat.
const WAITING: usize = 8 * STATEMENT;
/// The maximum of ended jobs that wait for the next heartbeat.
const JOBS: usize = 10_000;

/// The attempts of a worker that have reported something. Others cost nothing here.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    /// Whether any attempt ever has.
    used: AtomicBool,
    kept: Lock<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// By job.
    running: HashMap<i64, Arc<Attempt>>,
    ended: Vec<Reported>,
    /// Their approximate size in bytes.
    bytes: usize,
    /// Jobs that have ended and had a checkpoint.
    over: Vec<i64>,
    /// Jobs that have ended and are not kept, whose reports were written.
    unkept: Vec<i64>,
}

/// What is written with one statement.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) rows: Vec<Reported>,
    pub(crate) over: Vec<i64>,
    pub(crate) unkept: Vec<i64>,
}

impl Listener for Reports {
    fn begins(&self, attempt: Arc<Attempt>) {
        self.kept.lock().running.insert(attempt.id.0, attempt);
        self.used.store(true, Ordering::Release);
    }
}

impl Reports {
    /// An outcome was written: the last report of its attempt goes with the next heartbeat, unless
    /// the outcome came too late or the job is not kept.
    pub(crate) fn settled(&self, settlement: &Settlement, ending: Option<Ending>) {
        if !self.used.load(Ordering::Acquire) {
            return;
        }
        let mut kept = self.kept.lock();
        let claim = (settlement.claim.worker, settlement.claim.n);
        let of_claim = |attempt: &Arc<Attempt>| attempt.report.claim() == claim;
        if !kept.running.get(&settlement.job).is_some_and(of_claim) {
            return;
        }
        let Some(attempt) = kept.running.remove(&settlement.job) else { return };
        let Some(outcome) = settlement.outcome.became(ending) else { return };
        let said = attempt.report.take();
        if !outcome.goes_on() && said.checkpointed && kept.over.len() < JOBS {
            kept.over.push(settlement.job);
        }
        if outcome != Outcome::Finish || settlement.keep.is_some() {
            kept.push(said.unwritten(&attempt));
        } else if said.written && kept.unkept.len() < JOBS {
            kept.unkept.push(settlement.job);
        }
    }

    /// What was reported since the last call, as much as fits a statement; `None` if nothing.
    pub(crate) fn take(&self) -> Option<Batch> {
        if !self.used.load(Ordering::Acquire) {
            return None;
        }
        let mut kept = self.kept.lock();
        let mut batch =
            Batch { rows: Vec::new(), over: take(&mut kept.over), unkept: take(&mut kept.unkept) };
        let mut room = STATEMENT;
        while let Some(row) = kept.ended.pop_if(|_| room > 0) {
            kept.bytes -= row.bytes();
            room = room.saturating_sub(row.bytes());
            batch.rows.push(row);
        }
        for attempt in kept.running.values() {
            if room == 0 {
                break;
            }
            if let Some(row) = attempt.report.news(attempt) {
                room = room.saturating_sub(row.bytes());
                batch.rows.push(row);
            }
        }
        let nothing = batch.rows.is_empty() && batch.over.is_empty() && batch.unkept.is_empty();
        (!nothing).then_some(batch)
    }

    /// Takes back what could not be written. Reports that came meanwhile are newer.
    pub(crate) fn put_back(&self, batch: Batch) {
        let mut kept = self.kept.lock();
        for row in batch.rows {
            match kept.running.get(&row.job) {
                Some(attempt) if attempt.facts.attempt == row.attempt => {
                    attempt.report.tell_again();
                }
                _ => kept.push(Some(row)),
            }
        }
        kept.over.extend(batch.over);
        kept.unkept.extend(batch.unkept);
        kept.over.truncate(JOBS);
        kept.unkept.truncate(JOBS);
    }
}

impl Kept {
    /// An attempt has ended; its row is dropped if too much waits already.
    fn push(&mut self, row: Option<Reported>) {
        let Some(row) = row else { return };
        if self.bytes + row.bytes() > WAITING {
            tracing::debug!(job.id = row.job, "jobkit: too much was logged; lines are dropped");
            return;
        }
        self.bytes += row.bytes();
        self.ended.push(row);
    }
}

#[cfg(test)]
mod tests;
