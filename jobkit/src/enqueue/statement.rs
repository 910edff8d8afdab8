use std::fmt;

use crate::enqueue::Draft;
use crate::enqueue::{drafts, fits};
use crate::error::EnqueueError;
use crate::store::{Insert, NewJob};
use crate::terms::Terms;

/// An enqueue as one SQL statement, for drivers other than sqlx 0.9. Whichever transaction sends
/// it, the jobs exist if and only if that transaction commits.
///
/// Every parameter is text or null, and has to be sent as the type `text`. The statement returns
/// one row for each job, in order; the first column, `job_id`, is the id, a `bigint`. It only
/// inserts, at any isolation level, and waits for no lock, except that for jobs with a unique key
/// it waits for transactions that are working with the same key. Its text is one of a few that
/// never change within a build, so a driver may keep it prepared.
///
/// The crate `jobkit-drivers` does this for tokio-postgres, SeaORM, diesel and sqlx 0.8. For
/// another driver, this is all it takes:
///
/// ```no_run
/// # use jobkit::JobId;
/// # use jobkit::enqueue::{Draft, EnqueueError, Statement};
/// # struct Client;
/// # #[derive(Debug)] struct Failure { sqlstate: Option<String>, message: String }
/// # impl std::fmt::Display for Failure {
/// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
/// #         f.write_str(&self.message)
/// #     }
/// # }
/// # impl std::error::Error for Failure {}
/// # impl Client {
/// #     fn query(&mut self, _: &str, _: &[Option<String>]) -> Result<Vec<i64>, Failure> {
/// #         Ok(vec![])
/// #     }
/// # }
/// fn enqueue(job: impl Into<Draft>, client: &mut Client) -> Result<JobId, EnqueueError> {
///     let statement = Statement::enqueue(job)?;
///     match client.query(statement.sql(), statement.parameters()) {
///         Ok(ids) => Ok(JobId(ids[0])),
///         Err(failure) => Err(match (failure.sqlstate.clone(), failure.message.clone()) {
///             (Some(state), text) => EnqueueError::answered(Some(&state), &text, failure),
///             (None, _) => EnqueueError::unanswered(failure),
///         }),
///     }
/// }
/// ```
#[derive(Clone)]
#[must_use = "nothing is enqueued until the statement is sent"]
pub struct Statement {
    insert: Insert,
    is_empty: bool,
}

impl Statement {
    /// Enqueues a job, plain or with [options](crate::Enqueue::options).
    ///
    /// # Errors
    /// Those that [`Enqueue::enqueue`](crate::Enqueue::enqueue) finds before anything is sent.
    pub fn enqueue(job: impl Into<Draft>) -> Result<Self, EnqueueError> {
        let mut job = job.into().0?;
        Terms::carry([&mut job.terms]);
        Ok(Self { insert: Insert::jobs(&[job]), is_empty: false })
    }

    /// Enqueues any number of jobs of one type, plain or with options. If there are none, the
    /// statement does nothing and need not be sent: [`is_empty`](Self::is_empty).
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue), and [`EnqueueError::BatchTooLarge`] above 256 MB of payload.
    pub fn enqueue_all<J: Into<Draft>>(
        jobs: impl IntoIterator<Item = J>,
    ) -> Result<Self, EnqueueError> {
        let jobs: Vec<NewJob> = drafts(jobs)?;
        fits(&jobs)?;
        Ok(Self { insert: Insert::jobs(&jobs), is_empty: jobs.is_empty() })
    }

    /// A statement that is sent even if it may insert nothing.
    pub(super) const fn of(insert: Insert) -> Self {
        Self { insert, is_empty: false }
    }

    /// The text, with the parameters `$1`, `$2`, ….
    pub fn sql(&self) -> &'static str {
        self.insert.sql
    }

    /// The parameters, `$1` first.
    pub fn parameters(&self) -> &[Option<String>] {
        &self.insert.parameters
    }

    /// The parameters, for drivers that need to own them.
    pub fn into_parameters(self) -> Vec<Option<String>> {
        self.insert.parameters
    }

    /// Whether there are no jobs.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }
}

/// Without the parameters, which may contain secrets.
impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statement").field("sql", &self.sql()).finish_non_exhaustive()
    }
}
