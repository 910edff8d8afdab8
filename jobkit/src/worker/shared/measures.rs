use std::collections::BTreeMap;

use crate::histogram::Histogram;
use crate::hooks::Outcome;
use crate::lock::Lock;
use crate::store::{Ending, Measured, Settlement};
use crate::worker::shared::slots::Queue;

/// The outcomes of attempts since the last heartbeat, how long they ran, and how long their jobs
/// had been due: a count and two histograms for each queue, kind and outcome, whatever the load.
#[derive(Debug, Default)]
pub(crate) struct Measures(Lock<Counted>);

/// By index of the queue, kind and outcome.
pub(crate) type Counted = BTreeMap<(usize, &'static str, &'static str), Cell>;

#[derive(Debug, Default)]
pub(crate) struct Cell {
    count: u64,
    run: Histogram,
    wait: Histogram,
}

impl Measures {
    /// Counts a written outcome, as recorded; but not one that came too late or of a job that was
    /// given back, which the job did not cause.
    pub(crate) fn add(&self, settlement: &Settlement, ending: Option<Ending>) {
        let Some(ran) = settlement.ran else { return };
        let Some(outcome) = settlement.outcome.became(ending) else { return };
        if outcome == Outcome::Release {
            return;
        }
        let mut counted = self.0.lock();
        let cell = counted.entry((ran.queue, ran.kind, outcome.as_str())).or_default();
        cell.count += 1;
        if outcome != Outcome::Expire {
            cell.run.add(settlement.took);
            cell.wait.add(ran.waited);
        }
    }

    /// Takes what was counted, and starts again from zero.
    pub(crate) fn take(&self) -> Counted {
        std::mem::take(&mut *self.0.lock())
    }

    /// Takes back what could not be written.
    pub(crate) fn put_back(&self, refused: Counted) {
        let mut counted = self.0.lock();
        for (key, cell) in refused {
            let sum = counted.entry(key).or_default();
            sum.count += cell.count;
            sum.run.merge(&cell.run);
            sum.wait.merge(&cell.wait);
        }
    }
}

/// What was counted, in the form of the store.
pub(crate) fn rows<'a>(counted: &'a Counted, queues: &'a [Queue]) -> Vec<Measured<'a>> {
    let row = |(&(queue, kind, outcome), cell): (&(usize, &'a str, &'a str), &'a Cell)| Measured {
        queue: &queues[queue].name,
        kind,
        outcome,
        count: cell.count,
        run: &cell.run,
        wait: &cell.wait,
    };
    counted.iter().map(row).collect()
}
