use std::time::Duration;

use crate::limits;
use crate::store::Deadlines;

/// The longest of them: one day.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Up to how many slots a worker has few connections, unless it is told otherwise.
const FEW_SLOTS: usize = 20;

const POLL: Duration = Duration::from_secs(1);
const SMALL_POLL: Duration = Duration::from_secs(4);

/// The times a worker lives by; every one can be set on [`Worker`](crate::Worker).
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) lease: Duration,
    /// A quarter of the lease unless it is given.
    pub(crate) heartbeat: Option<Duration>,
    pub(crate) reap_every: Duration,
    pub(crate) sweep_every: Duration,
    pub(crate) replay_every: Duration,
    /// How long resolved dead letters are kept.
    pub(crate) keep_resolved: Duration,
    /// How long the audit is kept.
    pub(crate) keep_audit: Duration,
    /// How long measures are kept.
    pub(crate) keep_measures: Duration,
    /// How long the history of schedules is kept.
    pub(crate) keep_runs: Duration,
    /// How long is kept what attempts said of themselves.
    pub(crate) keep_reports: Duration,
    /// By default what [`poll`](Self::poll) says.
    pub(crate) poll: Option<Duration>,
    pub(crate) call_deadline: Duration,
    /// How long a stop may take until the process is killed.
    pub(crate) stop_within: Duration,
    /// Two thirds of that unless it is given.
    pub(crate) stop_grace: Option<Duration>,
    /// A sixth of that unless it is given.
    pub(crate) cancel_grace: Option<Duration>,
    pub(crate) listen: bool,
    /// Whether all but the heartbeat and the listener share one connection; unless it is given,
    /// where there are few slots.
    pub(crate) few_connections: Option<bool>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: default_name(),
            lease: Duration::from_secs(20),
            heartbeat: None,
            reap_every: Duration::from_secs(5),
            sweep_every: Duration::from_secs(5),
            replay_every: Duration::from_secs(5),
            keep_resolved: LONGEST * 7,
            keep_audit: LONGEST * 90,
            keep_measures: LONGEST * 7,
            keep_runs: LONGEST * 30,
            keep_reports: LONGEST * 7,
            poll: None,
            call_deadline: Duration::from_secs(5),
            stop_within: Duration::from_secs(30),
            stop_grace: None,
            cancel_grace: None,
            listen: true,
            few_connections: None,
        }
    }
}

impl Settings {
    pub(crate) fn deadlines(&self) -> Deadlines {
        Deadlines { call: self.call_deadline, lock: self.call_deadline.mul_f64(0.8) }
    }

    /// Whether a worker of so many slots in all has few connections.
    pub(crate) fn has_few_connections(&self, slots: usize) -> bool {
        self.few_connections.unwrap_or(slots <= FEW_SLOTS)
    }

    /// How often is looked for what nobody tells of. Many small workers would do little else, so
    /// one with few connections, which is told of everything, looks less often.
    pub(crate) fn poll(&self) -> Duration {
        let is_small = self.few_connections == Some(true) && self.listen;
        self.poll.unwrap_or(if is_small { SMALL_POLL } else { POLL })
    }

    pub(crate) fn heartbeat(&self) -> Duration {
        self.heartbeat.unwrap_or(self.lease / 4)
    }

    pub(crate) fn stop_grace(&self) -> Duration {
        self.stop_grace.unwrap_or(self.stop_within / 3 * 2)
    }

    pub(crate) fn cancel_grace(&self) -> Duration {
        self.cancel_grace.unwrap_or(self.stop_within / 6)
    }

    /// How long outcomes may be written once no handler runs. A thirtieth of the whole is left: the
    /// process has to end as well.
    pub(crate) fn last_writes(&self) -> Duration {
        self.stop_within / 15 * 2
    }

    /// How long hooks may take that have not heard of everything by then: what the above leaves.
    pub(crate) fn last_hooks(&self) -> Duration {
        self.stop_within / 60
    }

    /// How long before the end of the lease handlers are told to stop.
    pub(crate) fn lease_margin(&self) -> Duration {
        self.lease / 8
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let name = limits::name("worker's name", &self.name, limits::NAME_BYTES);
        problems.extend(name.err().map(|error| format!("`Worker::name`: {error}")));
        if self.heartbeat().is_zero() || self.heartbeat() > self.lease / 2 {
            problems.push(
                "the heartbeat must be above zero and at most half the lease, or one late beat \
                 loses it: set `Worker::heartbeat`"
                    .to_owned(),
            );
        }
        for (name, shortest, time) in [
            ("lease", Duration::from_secs(1), self.lease),
            ("reap_every", Duration::from_millis(1), self.reap_every),
            ("sweep_every", Duration::from_millis(1), self.sweep_every),
            ("replay_every", Duration::from_millis(1), self.replay_every),
            ("poll", Duration::from_millis(1), self.poll()),
            ("call_deadline", Duration::from_millis(1), self.call_deadline),
            ("stop_within", Duration::from_secs(1), self.stop_within),
            ("stop_grace", Duration::ZERO, self.stop_grace()),
            ("cancel_grace", Duration::ZERO, self.cancel_grace()),
        ] {
            if time < shortest || time > LONGEST {
                problems.push(format!(
                    "`Worker::{name}` is {time:?}; {shortest:?} to {LONGEST:?} are allowed"
                ));
            }
        }
        let years = LONGEST * 3650;
        for (name, keep) in [
            ("keep_resolved", self.keep_resolved),
            ("keep_audit", self.keep_audit),
            ("keep_measures", self.keep_measures),
            ("keep_runs", self.keep_runs),
            ("keep_reports", self.keep_reports),
        ] {
            if keep > years {
                problems.push(format!("`Worker::{name}` is {keep:?}; 0s to {years:?} are allowed"));
            }
        }
        problems
    }
}

/// Host and process, as far as they are known.
fn default_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok());
    let host = host.as_deref().map_or("host", str::trim);
    let process = std::process::id();
    let host: String = host.chars().filter(char::is_ascii_graphic).take(100).collect();
    format!("{host}:{process}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_stop_leave_time_for_the_end_of_the_process() {
        let seconds = Duration::from_secs;
        let parts = |settings: &Settings| {
            [settings.stop_grace(), settings.cancel_grace(), settings.last_writes()]
        };
        assert_eq!(parts(&Settings::default()), [seconds(20), seconds(5), seconds(4)]);
        for limit in [seconds(1), seconds(10), LONGEST] {
            let settings = Settings { stop_within: limit, ..Settings::default() };
            let whole: Duration = parts(&settings).iter().sum();
            assert!(whole < limit && whole > limit.mul_f64(0.96), "{whole:?} of {limit:?}");
        }
    }
}
