use std::fmt;
use std::fmt::Write;
use std::future::{Future, IntoFuture};
use std::panic::Location;
use std::pin::Pin;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use super::enqueued::{Enqueued, read, stored};
use super::session::Session;
use crate::JobType;
use crate::redact::{hidden_texts, scrubbed};
use crate::store::{Call, StoredJob, kinds_stored};

/// How long until another look.
const POLL: Duration = Duration::from_millis(10);

/// How many jobs a message lists.
const LISTED: usize = 20;

/// Panics unless a matching job of this type waits or runs, and returns the first. The message
/// lists the existing jobs.
///
/// ```no_run
/// # use std::time::Duration;
/// # use jobkit::{Enqueue, Job, JobContext, job};
/// # #[derive(serde::Serialize, serde::Deserialize)] #[job] struct Welcome { user: i64 }
/// # impl Job for Welcome { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
/// # async fn f(mut tx: sqlx::PgTransaction<'_>, pool: sqlx::PgPool) {
/// use jobkit::testing::assert_enqueued;
///
/// let job = assert_enqueued::<Welcome>(&mut *tx, |job| job.user == 7).await;
/// assert_eq!(job.priority, 0);
/// // What somebody else enqueues, and commits, within so long:
/// assert_enqueued::<Welcome>(&pool, |_| true).within(Duration::from_secs(2)).await;
/// # }
/// ```
#[track_caller]
pub fn assert_enqueued<'a, J: JobType + DeserializeOwned>(
    session: impl Session + 'a,
    fits: impl Fn(&Enqueued<J>) -> bool + Send + 'a,
) -> AssertEnqueued<'a, J> {
    AssertEnqueued(Expectation::new(session, fits))
}

/// Panics if a matching job of this type waits or runs, and lists those that match.
///
/// ```no_run
/// # use jobkit::{Enqueue, Job, JobContext, job};
/// # #[derive(serde::Serialize, serde::Deserialize)] #[job] struct Welcome { user: i64 }
/// # impl Job for Welcome { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
/// # async fn f(mut tx: sqlx::PgTransaction<'_>) {
/// use jobkit::testing::refute_enqueued;
///
/// refute_enqueued::<Welcome>(&mut *tx, |job| job.user == 8).await;
/// # }
/// ```
#[track_caller]
pub fn refute_enqueued<'a, J: JobType + DeserializeOwned>(
    session: impl Session + 'a,
    fits: impl Fn(&Enqueued<J>) -> bool + Send + 'a,
) -> RefuteEnqueued<'a, J> {
    RefuteEnqueued(Expectation::new(session, fits))
}

/// Returned by [`assert_enqueued`]; checks when it is awaited.
#[derive(Debug)]
#[must_use = "nothing is looked for until this is awaited"]
pub struct AssertEnqueued<'a, J>(Expectation<'a, J>);

/// Returned by [`refute_enqueued`]; checks when it is awaited.
#[derive(Debug)]
#[must_use = "nothing is looked for until this is awaited"]
pub struct RefuteEnqueued<'a, J>(Expectation<'a, J>);

impl<J> AssertEnqueued<'_, J> {
    /// Waits at most this long for such a job. Use it with a pool: jobs that others enqueue are
    /// visible once they are committed.
    pub fn within(mut self, patience: Duration) -> Self {
        self.0.patience = patience;
        self
    }
}

impl<J> RefuteEnqueued<'_, J> {
    /// Keeps checking for this long, during which no such job may appear.
    pub fn within(mut self, patience: Duration) -> Self {
        self.0.patience = patience;
        self
    }
}

impl<'a, J: JobType + DeserializeOwned + Send + 'a> IntoFuture for AssertEnqueued<'a, J> {
    type Output = Enqueued<J>;
    type IntoFuture = Pin<Box<dyn Future<Output = Enqueued<J>> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let mut expected = self.0;
            match expected.look().await {
                Found::Fits(job) => *job,
                Found::None(message) => {
                    let others = expected.others().await;
                    panic!("{}: no {message}{others}", expected.at)
                }
            }
        })
    }
}

impl<'a, J: JobType + DeserializeOwned + Send + 'a> IntoFuture for RefuteEnqueued<'a, J> {
    type Output = ();
    type IntoFuture = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let mut expected = self.0;
            if let Found::Fits(job) = expected.look().await {
                let kind = J::POLICY.kind;
                let stored = expected.stored().await;
                let one = stored.iter().find(|stored| stored.id == job.id.0);
                let one = one.map_or_else(String::new, |one| line::<J>(one));
                panic!("{}: a job `{kind}` is enqueued that should not be:{one}", expected.at);
            }
        })
    }
}

type Fits<'a, J> = Box<dyn Fn(&Enqueued<J>) -> bool + Send + 'a>;

/// What is looked for, where, and for how long.
struct Expectation<'a, J> {
    session: Box<dyn Session + 'a>,
    fits: Fits<'a, J>,
    patience: Duration,
    at: &'static Location<'static>,
}

enum Found<J> {
    Fits(Box<Enqueued<J>>),
    /// None matches; what exists instead.
    None(String),
}

impl<'a, J: JobType + DeserializeOwned> Expectation<'a, J> {
    #[track_caller]
    fn new(session: impl Session + 'a, fits: impl Fn(&Enqueued<J>) -> bool + Send + 'a) -> Self {
        Self {
            session: Box::new(session),
            fits: Box::new(fits),
            patience: Duration::ZERO,
            at: Location::caller(),
        }
    }

    /// Checks until one matches or the time is over.
    async fn look(&mut self) -> Found<J> {
        let end = Instant::now() + self.patience;
        loop {
            let stored = self.stored().await;
            let message = listed::<J>(&stored);
            let jobs = match read::<J>(stored) {
                Ok(jobs) => jobs,
                Err(error) => panic!("{}: {error}{message}", self.at),
            };
            if let Some(job) = jobs.into_iter().find(|job| (self.fits)(job)) {
                return Found::Fits(Box::new(job));
            }
            if Instant::now() >= end {
                return Found::None(message);
            }
            sleep(POLL.min(end - Instant::now())).await;
        }
    }

    async fn stored(&mut self) -> Vec<StoredJob> {
        let stored = stored::<J>(&mut *self.session).await;
        stored.unwrap_or_else(|error| panic!("{}: {error}", self.at))
    }

    /// The kinds of the existing jobs.
    async fn others(&mut self) -> String {
        let kinds = match self.session.connection().await {
            Ok(mut connection) => kinds_stored().call(&mut connection).await,
            Err(error) => Err(error),
        };
        let kinds = kinds.unwrap_or_default();
        let others = kinds.iter().filter(|(kind, _)| kind != J::POLICY.kind);
        let others: Vec<_> = others.map(|(kind, count)| format!("{kind} ({count})")).collect();
        if others.is_empty() {
            return String::new();
        }
        format!("\n  of other kinds: {}", others.join(", "))
    }
}

/// The text about the jobs of a type, none of which matches.
fn listed<J: JobType>(stored: &[StoredJob]) -> String {
    let (kind, count) = (J::POLICY.kind, stored.len());
    let mut text = match count {
        0 => format!("job `{kind}` is enqueued"),
        _ => format!("job `{kind}` is enqueued that fits; there are {count}:"),
    };
    text.extend(stored.iter().take(LISTED).map(line::<J>));
    if count > LISTED {
        text.push_str("\n  …");
    }
    text
}

/// A job in a line, without what its kind redacts.
fn line<J: JobType>(job: &StoredJob) -> String {
    let hidden = hidden_texts(&job.args, J::POLICY.redact);
    let mut text = format!("\n  job {}: {}", job.id, scrubbed(&job.args, &hidden));
    // Writing to a string does not fail.
    let _written = write!(text, ", {} in {}, priority {}", job.state, job.queue, job.priority);
    if let Some(due_in) = job.due_in {
        let _written = write!(text, ", due in {due_in:?}");
    }
    for (what, key) in [("concurrency", &job.concurrency_key), ("unique", &job.unique_key)] {
        if let Some(key) = key {
            let _written = write!(text, ", {what} key {key}");
        }
    }
    if !job.tags.is_empty() {
        let _written = write!(text, ", tags {}", job.tags.join(" "));
    }
    text
}

impl<J> fmt::Debug for Expectation<'_, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expectation").field("within", &self.patience).finish_non_exhaustive()
    }
}
