//! Which queues a worker serves, and what limits they have.

use super::Worker;
use super::shared::slots::{Named, Order, Served};
use crate::policy::QueueLimit;

impl Worker {
    /// Serves a queue, with at most this many of its jobs running here at a time (1 to 10,000).
    ///
    /// A name that ends in a star stands for every queue whose name begins with the rest, including
    /// queues that appear while the worker runs; `*` stands for all. These queues share the slots
    /// and take turns. A queue that this worker also names in full is not among them; if two
    /// patterns match a queue, the longer one has it.
    ///
    /// ```no_run
    /// # use jobkit::Worker;
    /// # async fn f(pool: sqlx::PgPool) {
    /// let worker = Worker::new(pool).queue("mail", 20).queue("tenant-*", 10).queue("*", 2);
    /// # }
    /// ```
    pub fn queue(mut self, name: impl Into<String>, concurrency: usize) -> Self {
        self.queues.push(Served::one(name.into(), concurrency));
        self
    }

    /// Serves queues that share this many slots, in strict order: as long as one has ready jobs,
    /// those after it get none. Names may be patterns, as in [`queue`](Self::queue).
    ///
    /// ```no_run
    /// # use jobkit::Worker;
    /// # async fn f(pool: sqlx::PgPool) {
    /// let worker = Worker::new(pool).queues_in_order(20, ["critical", "default", "low"]);
    /// # }
    /// ```
    pub fn queues_in_order<N: Into<String>>(
        mut self,
        concurrency: usize,
        names: impl IntoIterator<Item = N>,
    ) -> Self {
        let names = names.into_iter().map(|name| Named::new(name.into(), 1)).collect();
        self.queues.push(Served { names, order: Order::AsNamed, slots: concurrency });
        self
    }

    /// Serves queues that share this many slots, by weight (1 to 1,000): if both have ready jobs, a
    /// queue of weight 5 starts five jobs for each job of a queue of weight 1. Slots that some
    /// queues do not need go to the others. Names may be patterns, as in [`queue`](Self::queue);
    /// then each queue that matches has the weight.
    ///
    /// ```no_run
    /// # use jobkit::Worker;
    /// # async fn f(pool: sqlx::PgPool) {
    /// let worker = Worker::new(pool).queues_by_weight(20, [("critical", 5), ("default", 1)]);
    /// # }
    /// ```
    pub fn queues_by_weight<N: Into<String>>(
        mut self,
        concurrency: usize,
        weights: impl IntoIterator<Item = (N, u32)>,
    ) -> Self {
        let named = |(name, weight): (N, u32)| Named::new(name.into(), weight);
        let names = weights.into_iter().map(named).collect();
        self.queues.push(Served { names, order: Order::ByWeight, slots: concurrency });
        self
    }

    /// Declares the limits of a queue across all workers, whoever serves it: how many of its jobs
    /// run, how often they start, how many may wait.
    ///
    /// ```no_run
    /// # use jobkit::Worker;
    /// # use jobkit::policy::{QueueLimit, Rate};
    /// # async fn f(pool: sqlx::PgPool) {
    /// let mail = QueueLimit::new().running(50).rate(Rate::per_minute(600)).waiting(10_000);
    /// let worker = Worker::new(pool).queue("mail", 20).limit_queue("mail", mail);
    /// # }
    /// ```
    ///
    /// If workers declare different limits, the worker that started last decides. They stay when no
    /// worker declares them any more: declare [`QueueLimit::new()`] once to take them back. What an
    /// operator sets ([`LimitHandle::set`](crate::admin::limits::LimitHandle::set)) overrides them.
    pub fn limit_queue(mut self, queue: impl Into<String>, limit: QueueLimit) -> Self {
        self.queue_limits.push((queue.into(), limit));
        self
    }
}
