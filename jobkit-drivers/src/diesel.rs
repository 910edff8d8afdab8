//! Through [`diesel`]: `&mut connection`, from a pool or not, in a transaction or not.
//!
//! ```no_run
//! # use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
//! # type PgConnection = AsyncConnectionWrapper<diesel_async::AsyncPgConnection>;
//! # use jobkit::{Enqueue, Job, JobContext, job};
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! # #[job] struct SendReceipt { order_id: i64 }
//! # impl Job for SendReceipt { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
//! use diesel::{Connection, RunQueryDsl};
//! use jobkit_drivers::diesel::{enqueue, enqueue_all};
//!
//! # fn f(connection: &mut PgConnection) -> Result<(), Box<dyn std::error::Error>> {
//! connection.transaction::<_, Box<dyn std::error::Error>, _>(|connection| {
//!     diesel::sql_query("update orders set paid = true where id = 7").execute(connection)?;
//!     enqueue(SendReceipt { order_id: 7 }, connection)?;
//!     let more = (8..100).map(|order_id| SendReceipt { order_id }.options().priority(1));
//!     enqueue_all(more, connection)?;
//!     Ok(())
//! })?;
//! # Ok(()) }
//! ```

use diesel::connection::LoadConnection;
use diesel::deserialize::{self, QueryableByName};
use diesel::pg::Pg;
use diesel::query_builder::{BoxedSqlQuery, SqlQuery};
use diesel::result::DatabaseErrorKind as Kind;
use diesel::row::NamedRow;
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel::{RunQueryDsl, sql_query};
use jobkit::JobId;
use jobkit::enqueue::{Draft, EnqueueError, Statement, Topic};

use crate::answer::only;

/// Enqueues a job: it exists if and only if the transaction commits.
///
/// # Errors
/// As [`Enqueue::enqueue`](jobkit::Enqueue::enqueue).
pub fn enqueue<C: LoadConnection<Backend = Pg>>(
    job: impl Into<Draft>,
    connection: &mut C,
) -> Result<JobId, EnqueueError> {
    only(send(Statement::enqueue(job)?, connection)?)
}

/// Enqueues any number of jobs in one statement, and returns their ids in the same order.
///
/// # Errors
/// As [`jobkit::enqueue_all`].
pub fn enqueue_all<C: LoadConnection<Backend = Pg>, J: Into<Draft>>(
    jobs: impl IntoIterator<Item = J>,
    connection: &mut C,
) -> Result<Vec<JobId>, EnqueueError> {
    send(Statement::enqueue_all(jobs)?, connection)
}

/// Publishes to a topic: a job for each kind that subscribes, or none. Returns these jobs.
///
/// # Errors
/// As [`Topic::publish`].
pub fn publish<C: LoadConnection<Backend = Pg>>(
    event: impl Topic,
    connection: &mut C,
) -> Result<Vec<JobId>, EnqueueError> {
    send(Statement::publish(&event)?, connection)
}

fn send<C: LoadConnection<Backend = Pg>>(
    statement: Statement,
    connection: &mut C,
) -> Result<Vec<JobId>, EnqueueError> {
    if statement.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<Id> = query(statement).load(connection).map_err(failure)?;
    Ok(rows.into_iter().map(|Id(id)| id).collect())
}

/// The query that diesel sends.
pub(crate) fn query(statement: Statement) -> BoxedSqlQuery<'static, Pg, SqlQuery> {
    let query = sql_query(statement.sql()).into_boxed();
    let parameters = statement.into_parameters().into_iter();
    parameters.fold(query, |query, text| query.bind::<Nullable<Text>, _>(text))
}

/// The id of a row.
pub(crate) struct Id(pub(crate) JobId);

impl QueryableByName<Pg> for Id {
    fn build<'a>(row: &impl NamedRow<'a, Pg>) -> deserialize::Result<Self> {
        Ok(Self(JobId(NamedRow::get::<BigInt, i64>(row, "job_id")?)))
    }
}

pub(crate) fn failure(error: diesel::result::Error) -> EnqueueError {
    use diesel::result::Error as E;
    match &error {
        E::DatabaseError(Kind::ClosedConnection | Kind::UnableToSendCommand, _)
        | E::BrokenTransactionManager => EnqueueError::unanswered(error),
        E::DatabaseError(kind, answer) => {
            let message = answer.message().to_owned();
            EnqueueError::answered(sqlstate(kind, &message), &message, error)
        }
        other => {
            let message = other.to_string();
            EnqueueError::answered(None, &message, error)
        }
    }
}

/// The SQLSTATE, which diesel does not expose. A missing object is recognised by its name, which
/// the message contains in every language.
fn sqlstate(kind: &Kind, message: &str) -> Option<&'static str> {
    match kind {
        Kind::CheckViolation => Some("23514"),
        Kind::ExclusionViolation => Some("23P01"),
        Kind::ForeignKeyViolation => Some("23503"),
        Kind::NotNullViolation => Some("23502"),
        Kind::ReadOnlyTransaction => Some("25006"),
        Kind::RestrictViolation => Some("23001"),
        Kind::SerializationFailure => Some("40001"),
        Kind::UniqueViolation => Some("23505"),
        _ if ["jobkit.enqueue", "jobkit.fan_out"].iter().any(|name| message.contains(name)) => {
            Some("42883")
        }
        _ if message.contains("jobkit.") => Some("42P01"),
        // The schema itself, in quotes: without quotes, the message is about a missing privilege.
        _ => message.split_once("jobkit").and_then(|(before, _)| {
            let quoted = before.ends_with(|c: char| !c.is_alphanumeric() && !c.is_whitespace());
            quoted.then_some("3F000")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_by_its_name() {
        let state = |message| sqlstate(&Kind::UnableToSendCommand, message);
        assert_eq!(state("relation \"jobkit.jobs\" does not exist"), Some("42P01"));
        assert_eq!(state("Relation »jobkit.jobs« existiert nicht"), Some("42P01"));
        assert_eq!(state("function jobkit.enqueue_form_1() does not exist"), Some("42883"));
        assert_eq!(state("function jobkit.fan_out(text) does not exist"), Some("42883"));
        assert_eq!(state("schema \"jobkit\" does not exist"), Some("3F000"));
        assert_eq!(state("Schema »jobkit« existiert nicht"), Some("3F000"));
        assert_eq!(state("permission denied for schema jobkit"), None);
        assert_eq!(state("permission denied for table jobs"), None);
        assert_eq!(state("deadlock detected"), None);
    }
}
