//! Which queues a worker serves, and how many of their jobs may wait.

use super::Worker;
use super::shared::slots::{Named, Order, Served};

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

    /// Bounds the backlog of a queue, whoever serves it: once this many of its jobs wait (1 to
    /// 1,000,000), enqueues to it fail with [`QueueFull`](crate::error::QueueFull) until a
    /// tenth of them is gone. Workers check once a second, so a few more may get in; nothing that
    /// was stored is dropped.
    ///
    /// ```no_run
    /// # use jobkit::Worker;
    /// # async fn f(pool: sqlx::PgPool) {
    /// let worker = Worker::new(pool).queue("mail", 20).max_backlog("mail", 10_000);
    /// # }
    /// ```
    ///
    /// Of two workers, the one that starts last decides, and an operator's limit
    /// ([`LimitHandle::set`](crate::admin::limits::LimitHandle::set)) overrides it.
    pub fn max_backlog(mut self, queue: impl Into<String>, jobs: u32) -> Self {
        self.bounds.push((queue.into(), jobs));
        self
    }
}
