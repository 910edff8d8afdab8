//! The subjects of items, and since when they need attention.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::attention::Attention;

impl Attention {
    /// What it is about: the queue, the key as `group/key`, the worker, …; empty if there is only
    /// one of this name. [`Admin::attention`](crate::Admin::attention) takes it.
    #[must_use]
    pub fn subject(&self) -> String {
        match self {
            Self::NoWorker { .. } | Self::StandbyAwaited { .. } | Self::DeadLetters { .. } => {
                String::new()
            }
            Self::LateWorker(worker) => format!("{:x}", worker.id),
            Self::Unserved { queue, kind, version, .. } => {
                let version = version.map(|version| format!("@{version}")).unwrap_or_default();
                format!("{queue}/{kind}{version}")
            }
            Self::LongRun { queue, kind, .. } => format!("{queue}/{kind}"),
            Self::StuckJob(stuck) => stuck.job.to_string(),
            Self::StuckOperation { operation, .. } => operation.to_string(),
            Self::UnclosedBatch { batch, .. } => batch.to_string(),
            Self::HeldKey { group, key, .. } | Self::PausedKey { group, key, .. } => {
                format!("{group}/{key}")
            }
            Self::PausedScope { scope, .. } => scope.to_string(),
            _ => self.label().unwrap_or_default().to_owned(),
        }
    }

    /// What it is about, if that has few possible values, as a label of metrics: a queue, a kind, a
    /// schedule, a group of keys, the name of a worker.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        match self {
            Self::LateQueue { queue, .. }
            | Self::FullQueue { queue, .. }
            | Self::PausedQueue { queue, .. } => Some(queue),
            Self::Unserved { kind, .. } | Self::LongRun { kind, .. } => Some(kind),
            Self::LateWorker(worker) => Some(&worker.name),
            Self::LostWorker { name, .. } => Some(name),
            Self::OverdueSchedule(schedule) => Some(&schedule.name),
            Self::PausedSchedule(schedule) => Some(&schedule.name),
            Self::HeldKey { group, .. } | Self::PausedKey { group, .. } => Some(group),
            Self::PausedScope { scope, .. } => Some(scope.name()),
            _ => None,
        }
    }

    /// When it began or last happened, in an overview of this time.
    #[must_use]
    pub fn since(&self, at: DateTime<Utc>) -> DateTime<Utc> {
        let ago = |time: &Duration| {
            let time = chrono::Duration::from_std(*time).unwrap_or(chrono::Duration::MAX);
            at.checked_sub_signed(time).unwrap_or(DateTime::UNIX_EPOCH)
        };
        match self {
            Self::NoWorker { since, .. }
            | Self::FullQueue { since, .. }
            | Self::UnclosedBatch { since, .. }
            | Self::PausedQueue { since, .. } => *since,
            Self::StandbyAwaited { longest, .. } => ago(longest),
            Self::LateWorker(worker) => ago(&worker.heartbeat_age),
            Self::Unserved { since, .. } => since.unwrap_or(at),
            Self::LateQueue { oldest, .. } => ago(oldest),
            Self::LostWorker { at, .. } => *at,
            Self::StuckJob(stuck) => stuck.since,
            Self::LongRun { newest, .. } => *newest,
            Self::StuckOperation { since, .. } => ago(since),
            Self::OverdueSchedule(schedule) => ago(&schedule.overdue),
            Self::HeldKey { blocked_age, .. } | Self::PausedKey { blocked_age, .. } => {
                ago(blocked_age)
            }
            Self::DeadLetters { last, .. } => *last,
            Self::PausedScope { pause, .. } => pause.since,
            Self::PausedSchedule(schedule) => schedule.since,
        }
    }
}
