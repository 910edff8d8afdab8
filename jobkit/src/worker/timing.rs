//! How often a worker does what, and for how long it waits: all of it has defaults.

use std::time::Duration;

use super::Worker;

impl Worker {
    /// After how long without a heartbeat this worker's jobs are taken back; 1 s or more, 20 s by
    /// default.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.settings.lease = lease;
        self
    }

    /// How often the lease is renewed; at most half the lease, by default a quarter.
    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.settings.heartbeat = Some(every);
        self
    }

    /// How often this worker looks for dead ones; 5 s by default.
    pub fn reap_every(mut self, every: Duration) -> Self {
        self.settings.reap_every = every;
        self
    }

    /// How often all workers together look for free permits that blocked jobs missed, 1 ms to one
    /// day; 5 s by default. They should find none: permits are passed on when a job ends.
    pub fn sweep_every(mut self, every: Duration) -> Self {
        self.settings.sweep_every = every;
        self
    }

    /// How often this worker looks for dead letters whose kind replays them automatically, 1 ms to
    /// one day; 5 s by default.
    pub fn replay_every(mut self, every: Duration) -> Self {
        self.settings.replay_every = every;
        self
    }

    /// How long a dead letter is kept once its replay has succeeded, up to ten years; 7 days by
    /// default. What is open stays until somebody discards or purges it.
    pub fn keep_resolved(mut self, keep: Duration) -> Self {
        self.settings.keep_resolved = keep;
        self
    }

    /// How long the audit of what operators did is kept, up to ten years, and a day at least
    /// whatever is said here; 90 days by default.
    pub fn keep_audit(mut self, keep: Duration) -> Self {
        self.settings.keep_audit = keep;
        self
    }

    /// How long the history of schedules is kept, up to ten years; 30 days by default.
    pub fn keep_runs(mut self, keep: Duration) -> Self {
        self.settings.keep_runs = keep;
        self
    }

    /// How long [measures](crate::Admin::measures) are kept, up to ten years; 7 days by default.
    pub fn keep_measures(mut self, keep: Duration) -> Self {
        self.settings.keep_measures = keep;
        self
    }

    /// How long the [progress](crate::JobContext::progress) and the log of an attempt are kept
    /// from when it began, up to ten years; 7 days by default.
    pub fn keep_reports(mut self, keep: Duration) -> Self {
        self.settings.keep_reports = keep;
        self
    }

    /// How often an idle worker looks for jobs without being told; by default 1 s, and 4 s where it
    /// listens and has [few connections](Self::few_connections).
    pub fn poll(mut self, every: Duration) -> Self {
        self.settings.poll = Some(every);
        self
    }

    /// Whether to listen for wake-ups (the default). Else jobs start up to one poll later.
    pub fn listen(mut self, listen: bool) -> Self {
        self.settings.listen = listen;
        self
    }

    /// Whether to do with three connections: one for the heartbeat, one for the listener, one for
    /// all the rest, where calls take turns. By default that is so up to 20 slots, in all queues
    /// together, for many small workers on one server.
    ///
    /// Otherwise there are eight, and a ninth where a claim brings 250 jobs; the watchdog and the
    /// pruner open one more for a moment, and whoever carries out an operation or fires schedules
    /// has one for as long.
    ///
    /// On the one connection a claim or a write of outcomes waits for those before it and for one
    /// call of a duty at most, each of which takes the [call deadline](Self::call_deadline) at
    /// most. Few of them wait there for a lock for longer than a twentieth of that: outcomes of a
    /// job whose key is held are tried for a second, and again after two, as ever; meanwhile the
    /// others go on.
    pub fn few_connections(mut self, few: bool) -> Self {
        self.settings.few_connections = Some(few);
        self
    }

    /// How long one call to the database may take, everything it waits for included; 5 s by
    /// default.
    pub fn call_deadline(mut self, deadline: Duration) -> Self {
        self.settings.call_deadline = deadline;
        self
    }

    /// How long after its signal your supervisor kills the process:
    /// [`WorkerHandle::stop`](crate::WorkerHandle::stop) returns before that, whatever handlers and
    /// database do (where the runtime can run it: a handler may block its only thread). 1 s or
    /// more; 30 s by default, as in Kubernetes; 10 s for Docker.
    ///
    /// Two thirds are the [stop grace](Self::stop_grace), a sixth is the
    /// [cancel grace](Self::cancel_grace), the rest is for the last writes and the process's end.
    pub fn stop_within(mut self, limit: Duration) -> Self {
        self.settings.stop_within = limit;
        self
    }

    /// How long [`WorkerHandle::stop`](crate::WorkerHandle::stop) waits for running jobs, told at
    /// once by [`JobContext::stopping`](crate::JobContext::stopping), before it asks them to stop;
    /// two thirds of [`stop_within`](Self::stop_within) (20 s) by default.
    pub fn stop_grace(mut self, grace: Duration) -> Self {
        self.settings.stop_grace = Some(grace);
        self
    }

    /// How long a handler that was asked to stop may take before it is dropped (after its timeout
    /// at most as long as that was); a sixth of [`stop_within`](Self::stop_within) (5 s) by
    /// default.
    pub fn cancel_grace(mut self, grace: Duration) -> Self {
        self.settings.cancel_grace = Some(grace);
        self
    }
}
