//! The duties of a worker: everything besides claiming, running and settling.

mod listener;
mod operation_runner;
mod promoter;
pub(crate) mod pruner;
mod reaper;
mod replayer;
mod scheduler;
mod sweeper;
mod watchdog;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::sync::Notify;

use self::listener::Listener;
use self::operation_runner::OperationRunner;
use self::promoter::Promoter;
use self::pruner::Pruner;
use self::reaper::Reaper;
use self::replayer::Replayer;
use self::scheduler::{Review, Scheduler};
use self::sweeper::Sweeper;
use self::watchdog::Watchdog;
use super::start::Parts;
use super::ticker;
use crate::operating::Steps;
use crate::store::Notifications;

impl Parts {
    /// Starts them all.
    pub(super) fn duties(&self) -> Vec<tokio::task::JoinHandle<()>> {
        let stop = || self.stops.duties.clone();
        let reaper = Reaper {
            link: self.patient_link("reap"),
            every: self.settings.reap_every,
            ledger: Arc::clone(&self.ledger),
            lease: Arc::clone(&self.lease),
            wake: Arc::clone(&self.wake),
            counters: Arc::clone(&self.counters),
        };
        let (operating, firing) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let promoter = Promoter {
            link: self.patient_link("promote"),
            poll: self.settings.poll(),
            listens: self.settings.listen,
            ledger: Arc::clone(&self.ledger),
            wake: Arc::clone(&self.wake),
            due: Arc::clone(&self.due),
            next: None,
            operating: Arc::clone(&operating),
            firing: Arc::clone(&firing),
        };
        let watchdog = Watchdog {
            link: self.patient_link("watchdog"),
            slots: Arc::clone(&self.slots),
            kinds: self.kinds.clone(),
            seen: HashSet::new(),
            stopping: self.stops.claims.clone(),
        };
        let mut duties = vec![
            tokio::spawn(ticker::run(reaper, stop())),
            tokio::spawn(ticker::run(promoter, stop())),
            tokio::spawn(ticker::run(self.sweeper(), stop())),
            tokio::spawn(ticker::run(self.operation_runner(operating), stop())),
            tokio::spawn(ticker::run(self.replayer(), stop())),
            tokio::spawn(ticker::run(self.scheduler(firing), stop())),
            tokio::spawn(ticker::run(self.pruner(), stop())),
            tokio::spawn(ticker::run(watchdog, stop())),
        ];
        if self.settings.listen {
            duties.push(tokio::spawn(ticker::run(self.listener(), stop())));
        }
        duties
    }

    fn listener(&self) -> Listener {
        Listener {
            notifications: Notifications::new(self.source.clone(), self.settings.call_deadline),
            wake: Arc::clone(&self.wake),
            due: Arc::clone(&self.due),
            slots: Arc::clone(&self.slots),
        }
    }

    fn sweeper(&self) -> Sweeper {
        Sweeper {
            link: self.patient_link("sweep"),
            every: self.settings.sweep_every,
            ledger: Arc::clone(&self.ledger),
            wake: Arc::clone(&self.wake),
            counters: Arc::clone(&self.counters),
            known: None,
            started: None,
            put_off: 0,
        }
    }

    fn replayer(&self) -> Replayer {
        Replayer {
            link: self.patient_link("replay"),
            every: self.settings.replay_every,
            wake: Arc::clone(&self.wake),
        }
    }

    fn pruner(&self) -> Pruner {
        Pruner {
            link: self.patient_link("prune"),
            days: self.days,
            keep_resolved: self.settings.keep_resolved,
            keep_audit: self.settings.keep_audit,
            keep_measures: self.settings.keep_measures,
            keep_runs: self.settings.keep_runs,
            keep_reports: self.settings.keep_reports,
        }
    }

    fn scheduler(&self, firing: Arc<Notify>) -> Scheduler {
        Scheduler {
            link: self.patient_link("fire"),
            wake: Arc::clone(&self.wake),
            due: Arc::clone(&self.due),
            firing,
            put_off: HashMap::new(),
            read: HashMap::new(),
            idle: false,
            review: Review::new(self.declared.clone(), self.settings.sweep_every),
        }
    }

    fn operation_runner(&self, operating: Arc<Notify>) -> OperationRunner {
        OperationRunner {
            link: self.patient_link("operate"),
            wake: Arc::clone(&self.wake),
            operating,
            steps: Steps::default(),
            idle: false,
        }
    }
}
