//! Queues: their backlogs and workers.

use std::collections::BTreeMap;

use self::statements::{Held, KnownQueue, Run};
use crate::admin::AdminError;
use crate::admin::{Admin, Count};

mod queue;
pub(super) mod statements;

pub use self::queue::{QueueKind, QueueSummary, Waiting};

impl Admin {
    /// The status of each known queue, by name. A queue is known if a worker names it, if it is
    /// paused or limits how many jobs wait, or if it has a job. At most 500 queues with ready jobs
    /// and 500 that workers name are listed.
    pub async fn queues(&self) -> Result<Vec<QueueSummary>, AdminError> {
        let mut link = self.link();
        let known = link.call(&statements::known_queues(None)).await?;
        let ready = link.call(&statements::queues_ready()).await?;
        let blocked = link.call(&statements::queues_blocked()).await?;
        let scheduled = link.call(&statements::queues_scheduled()).await?;
        let running = link.call(&statements::queues_running()).await?;
        let mut queues = Queues::of(known);
        // A queue that no worker names may match a worker's pattern.
        let held = [&ready, &blocked, &scheduled].into_iter().flatten();
        let held = held.chain(running.iter().map(|run| &run.held));
        let unknown: Vec<String> = held.filter_map(|held| queues.unknown(&held.queue)).collect();
        if !unknown.is_empty() {
            queues.know(link.call(&statements::known_queues(Some(&unknown))).await?);
        }
        link.close().await;
        for held in &ready {
            queues.add(held, |queue| &mut queue.ready, |kind| &mut kind.ready).ready_age = held.age;
        }
        for held in blocked.iter().chain(&scheduled) {
            queues.get(&held.queue);
        }
        queues.add_first(&blocked, |queue| &mut queue.blocked, |kind| &mut kind.blocked);
        queues.add_first(&scheduled, |queue| &mut queue.scheduled, |kind| &mut kind.scheduled);
        queues.add_running(running);
        for held in &blocked {
            let summary = queues.get(&held.queue);
            summary.blocked_age = summary.blocked_age.max(held.age);
        }
        for held in &scheduled {
            let summary = queues.get(&held.queue);
            let next = [summary.next_run_at, held.next_run_at].into_iter().flatten().min();
            (summary.next_run_at, summary.retrying) = (next, sum(summary.retrying, held.retrying));
        }
        if scheduled.iter().any(|held| held.more) {
            queues.0.values_mut().for_each(|summary| cut(&mut summary.retrying));
        }
        Ok(queues.0.into_values().collect())
    }
}

/// The field of a summary with the number of jobs in some state.
type Total = fn(&mut QueueSummary) -> &mut Count;

/// The same for a kind.
type OfKind = fn(&mut QueueKind) -> &mut u32;

/// Collects what was read about each queue.
#[derive(Default)]
struct Queues(BTreeMap<String, QueueSummary>);

impl Queues {
    fn get(&mut self, queue: &str) -> &mut QueueSummary {
        self.0.entry(queue.to_owned()).or_insert_with(|| QueueSummary::empty(queue))
    }

    /// Adds jobs of a queue in some state.
    fn add(&mut self, held: &Held, total: Total, of_kind: OfKind) -> &mut QueueSummary {
        let summary = self.get(&held.queue);
        for (kind, number) in &held.kinds {
            *total(summary) = sum(*total(summary), *number);
            *of_kind(summary.kind(kind)) += number;
        }
        if held.more {
            cut(total(summary));
        }
        summary
    }

    /// Adds jobs counted over all queues together. If there are more, every queue may have more.
    fn add_first(&mut self, all: &[Held], total: Total, of_kind: OfKind) {
        for held in all {
            self.add(held, total, of_kind);
        }
        if all.iter().any(|held| held.more) {
            self.0.values_mut().for_each(|summary| cut(total(summary)));
        }
    }

    /// Adds running jobs; those of live workers by kind as well.
    fn add_running(&mut self, runs: Vec<Run>) {
        let (mut running, mut stopping, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for Run { hands, held } in runs {
            self.get(&held.queue);
            match &*hands {
                "running" => running.push(held),
                "stopping" => stopping.push(held),
                _ => gone.push(held),
            }
        }
        self.add_first(&running, |queue| &mut queue.running, |kind| &mut kind.running);
        self.add_first(&stopping, |queue| &mut queue.stopping, |kind| &mut kind.running);
        for held in &gone {
            let summary = self.get(&held.queue);
            let number = held.kinds.iter().map(|(_, number)| number).sum();
            summary.gone = sum(summary.gone, number);
        }
        for held in running.iter().chain(&stopping) {
            let summary = self.get(&held.queue);
            summary.running_age = summary.running_age.max(held.age);
            for (kind, _) in &held.kinds {
                let kind = summary.kind(kind);
                kind.running_age = kind.running_age.max(held.age);
            }
        }
    }

    fn of(known: Vec<KnownQueue>) -> Self {
        let mut queues = Self::default();
        queues.know(known);
        queues
    }

    fn know(&mut self, known: Vec<KnownQueue>) {
        for KnownQueue { queue, workers, capacity, paused, waiting } in known {
            let summary = QueueSummary::empty(&queue);
            let summary = QueueSummary { workers, capacity, paused, waiting, ..summary };
            self.0.insert(queue, summary);
        }
    }

    /// The name of a queue, unless it is already known.
    fn unknown(&self, queue: &str) -> Option<String> {
        (!self.0.contains_key(queue)).then(|| queue.to_owned())
    }
}

fn sum(count: Count, number: u32) -> Count {
    match count {
        Count::Exactly(counted) => Count::Exactly(counted + number),
        Count::AtLeast(counted) => Count::AtLeast(counted + number),
    }
}

fn cut(count: &mut Count) {
    *count = Count::AtLeast(count.number());
}
