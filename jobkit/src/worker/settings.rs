use std::time::Duration;

use crate::store::Deadlines;

/// The times a worker lives by; every one can be set on [`Worker`](crate::Worker).
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) name: String,
    pub(crate) lease: Duration,
    pub(crate) heartbeat: Duration,
    pub(crate) reap_every: Duration,
    pub(crate) poll: Duration,
    pub(crate) call_deadline: Duration,
    pub(crate) stop_grace: Duration,
    pub(crate) cancel_grace: Duration,
    pub(crate) listen: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: default_name(),
            lease: Duration::from_secs(20),
            heartbeat: Duration::from_secs(5),
            reap_every: Duration::from_secs(5),
            poll: Duration::from_secs(1),
            call_deadline: Duration::from_secs(5),
            stop_grace: Duration::from_secs(30),
            cancel_grace: Duration::from_secs(5),
            listen: true,
        }
    }
}

impl Settings {
    pub(crate) fn deadlines(&self) -> Deadlines {
        Deadlines { call: self.call_deadline, lock: self.call_deadline.mul_f64(0.8) }
    }

    /// How long before the end of the lease handlers are told to stop.
    pub(crate) fn lease_margin(&self) -> Duration {
        self.lease / 8
    }

    pub(crate) fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        if self.lease < Duration::from_secs(1) {
            gaps.push("the lease is shorter than 1 s: raise `Worker::lease`".to_owned());
        }
        if self.heartbeat.is_zero() || self.heartbeat * 2 > self.lease {
            gaps.push(
                "the heartbeat must be above zero and at most half the lease, or one late beat \
                 loses it: set `Worker::heartbeat`"
                    .to_owned(),
            );
        }
        for (name, time) in [
            ("reap_every", self.reap_every),
            ("poll", self.poll),
            ("call_deadline", self.call_deadline),
        ] {
            if time.is_zero() {
                gaps.push(format!("`Worker::{name}` must be above zero"));
            }
        }
        gaps
    }
}

/// Host and process, as far as they are known.
fn default_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok());
    let host = host.as_deref().map_or("host", str::trim).to_owned();
    format!("{host}:{}", std::process::id())
}
