//! Intervals and timeouts of a worker, all with defaults.

use std::time::Duration;

use super::Worker;

impl Worker {
    /// How long this worker may go without a heartbeat before its jobs are taken back; 1 s or more,
    /// 20 s by default.
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
    /// day; 5 s by default. They should find none, since permits are passed on when a job ends.
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
    /// default. An open dead letter stays until somebody discards or purges it.
    pub fn keep_resolved(mut self, keep: Duration) -> Self {
        self.settings.keep_resolved = keep;
        self
    }

    /// How long the audit of what operators did is kept, up to ten years; 90 days by default. It is
    /// kept for at least a day, whatever you set here.
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

    /// How often an idle worker looks for jobs without a notification; by default 1 s, or 4 s if it
    /// listens and has [few connections](Self::few_connections).
    pub fn poll(mut self, every: Duration) -> Self {
        self.settings.poll = Some(every);
        self
    }

    /// Whether to listen for notifications (the default). Otherwise jobs start up to one poll
    /// later.
    pub fn listen(mut self, listen: bool) -> Self {
        self.settings.listen = listen;
        self
    }

    /// Whether to use only three connections: one for the heartbeat, one for the listener, and one
    /// for everything else, on which calls take turns. This is the default up to 20 slots, in all
    /// queues together, so that many small workers fit on one server.
    ///
    /// Otherwise there are eight, and a ninth if a claim brings 250 jobs. The watchdog and the
    /// pruner open one more for a moment, and a worker that carries out an operation or fires
    /// schedules has one for as long as that takes.
    ///
    /// On the shared connection, a claim or a write of outcomes waits for those before it and for
    /// at most one call of a duty, each of which takes at most the [call
    /// deadline](Self::call_deadline). Few of them wait for a lock for longer than a twentieth of
    /// that. Outcomes of a job whose key is locked are tried for a second, and again after two, as
    /// always; meanwhile the others continue.
    pub fn few_connections(mut self, few: bool) -> Self {
        self.settings.few_connections = Some(few);
        self
    }

    /// How long one call to the database may take, including all its waits; 5 s by default.
    pub fn call_deadline(mut self, deadline: Duration) -> Self {
        self.settings.call_deadline = deadline;
        self
    }

    /// How long after its signal your supervisor kills the process.
    /// [`WorkerHandle::stop`](crate::WorkerHandle::stop) returns before that, whatever handlers and
    /// the database do (provided that the runtime can run it: a handler may block its only thread).
    /// 1 s or more; 30 s by default, as in Kubernetes; 10 s for Docker.
    ///
    /// Two thirds are the [stop grace](Self::stop_grace), a sixth is the [cancel
    /// grace](Self::cancel_grace), and the rest is for the last writes and the end of the process.
    pub fn stop_within(mut self, limit: Duration) -> Self {
        self.settings.stop_within = limit;
        self
    }

    /// How long [`WorkerHandle::stop`](crate::WorkerHandle::stop) waits for running jobs before it
    /// asks them to stop; [`JobContext::stopping`](crate::JobContext::stopping) tells them
    /// immediately. Two thirds of [`stop_within`](Self::stop_within) (20 s) by default.
    pub fn stop_grace(mut self, grace: Duration) -> Self {
        self.settings.stop_grace = Some(grace);
        self
    }

    /// How long a handler that was asked to stop may take before it is dropped (after a timeout, at
    /// most as long as the timeout itself); a sixth of [`stop_within`](Self::stop_within) (5 s) by
    /// default.
    pub fn cancel_grace(mut self, grace: Duration) -> Self {
        self.settings.cancel_grace = Some(grace);
        self
    }
}
