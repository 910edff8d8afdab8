use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::Instrument;

use crate::enqueue::draft::payload;
use crate::enqueue::{Executor, Statement};
use crate::error::EnqueueError;
use crate::hooks::{Sent, sent};
use crate::limits::{NAME_BYTES, VERSIONS};
use crate::policy::Policy;
use crate::store::{self, Insert};
use crate::terms::Terms;
use crate::{JobId, meter};

/// An event to publish: it becomes one job for each kind that subscribes.
///
/// A job subscribes with `#[job(subscribes)]` on a struct with one field, of the topic's type, so
/// the payload of every subscriber is the JSON of what was published. The publisher does not need
/// to know or link its subscribers: workers announce the subscriptions of their jobs when they
/// start, and [`announce`](crate::announce()) does so without a worker.
///
/// ```no_run
/// use jobkit::enqueue::Topic;
/// use jobkit::{Job, JobContext, job};
/// # use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct OrderPaid {
///     order: i64,
/// }
///
/// impl Topic for OrderPaid {
///     const NAME: &'static str = "order.paid";
/// }
///
/// #[derive(Serialize, Deserialize)]
/// #[job(subscribes, queue = "mail")]
/// struct SendReceipt(OrderPaid);
///
/// impl Job for SendReceipt {
///     async fn run(self, _cx: JobContext) -> jobkit::Result {
///         println!("the receipt of order {}", self.0.order);
///         Ok(())
///     }
/// }
///
/// # async fn f(mut tx: sqlx::PgTransaction<'_>) -> Result<(), jobkit::enqueue::EnqueueError> {
/// OrderPaid { order: 7 }.publish(&mut *tx).await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a topic that a job can subscribe to",
    label = "no `Topic` for `{Self}`",
    note = "write `impl jobkit::enqueue::Topic for {Self}`, with the name of the topic"
)]
pub trait Topic: Serialize + DeserializeOwned + Send + Sized {
    /// The stable name that publishers and subscribers agree on, 1 to 128 bytes.
    const NAME: &'static str;

    /// The version of what is published, 1 to 32,767; the payload of each job has the same version.
    /// Subscribers read earlier versions with `upcast`; workers that do not know a version leave
    /// its jobs alone.
    const VERSION: u16 = 1;

    /// Paths (`card.number`) whose values are not shown; this is the `redact` of every job that
    /// subscribes.
    const REDACT: &'static [&'static str] = &[];

    /// Publishes the event: if and only if the transaction of `executor` commits, there is one job
    /// for each kind that subscribes, with the queue, priority and attempts of that kind. Returns
    /// these jobs, ordered by kind. Without subscribers there are none, which is not an error.
    ///
    /// This is one statement that reads the subscriptions and inserts the jobs, at any isolation
    /// level, and waits for no lock. A subscription announced later gets no job for this event.
    ///
    /// # Errors
    /// As [`Enqueue::enqueue`](crate::Enqueue::enqueue), except [`EnqueueError::QueueFull`].
    fn publish<'c, X: Executor<'c>>(
        self,
        executor: X,
    ) -> impl Future<Output = Result<Vec<JobId>, EnqueueError>> + Send {
        const { check::<Self>() };
        // Before the future is created, so that it is Send whatever is published.
        let insert = insert(&self);
        async move { publish(Self::NAME, insert?, executor).await }
    }
}

/// The policy of a job that subscribes to a topic; the expansion of `#[job]` calls it.
#[must_use]
pub const fn subscribed<T: Topic>(policy: Policy) -> Policy {
    check::<T>();
    Policy { topic: Some(T::NAME), version: T::VERSION, redact: T::REDACT, ..policy }
}

/// Refuses at compile time a name or a version that no topic can have.
const fn check<T: Topic>() {
    let name = T::NAME.as_bytes();
    assert!(!name.is_empty() && name.len() <= NAME_BYTES, "a topic's name has 1 to 128 bytes");
    let mut at = 0;
    while at < name.len() {
        assert!(name[at] != 0, "a topic's name contains no NUL");
        at += 1;
    }
    let fits = T::VERSION >= *VERSIONS.start() && T::VERSION <= *VERSIONS.end();
    assert!(fits, "a topic's version is 1 to 32,767");
}

/// Checks what is published, so that nothing in it can fail in the database.
fn insert<T: Topic>(event: &T) -> Result<Insert, EnqueueError> {
    let (args, _metadata) = payload(&subscribed::<T>(Policy::new(T::NAME)), event, None)?;
    let mut terms = Terms::default();
    Terms::carry([&mut terms]);
    Ok(Insert::publish(T::NAME, T::VERSION, args, &terms))
}

async fn publish<'c, X: Executor<'c>>(
    topic: &'static str,
    insert: Insert,
    executor: X,
) -> Result<Vec<JobId>, EnqueueError> {
    let span = tracing::debug_span!("jobkit.publish", topic, jobs = tracing::field::Empty);
    let jobs = store::publish(insert, executor).instrument(span.clone()).await?;
    span.record("jobs", jobs.len());
    for (job, kind) in &jobs {
        meter::enqueued(kind.clone(), 1);
        sent(|| Sent { kind: kind.clone().into(), jobs: vec![JobId(*job)] });
    }
    Ok(jobs.into_iter().map(|(job, _)| JobId(job)).collect())
}

impl Statement {
    /// Publishes to a [topic](Topic): returns a row for each kind that subscribes, with the id of
    /// its job, and none without subscribers.
    ///
    /// # Errors
    /// Those that [`Topic::publish`] finds before anything is sent.
    pub fn publish<T: Topic>(event: &T) -> Result<Self, EnqueueError> {
        const { check::<T>() };
        insert(event).map(Self::of)
    }
}
