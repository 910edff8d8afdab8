use super::{DatabaseError, InvalidValue, StartProblems};

/// Why a worker did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The worker's settings or its jobs are invalid. All problems are listed.
    #[error("the worker cannot start:{0}")]
    Problems(StartProblems),
    /// Some stored payloads do not decode into the jobs of this binary. All problems are listed.
    /// Only [`Worker::preflight`](crate::Worker::preflight) checks this.
    #[error("this binary cannot read some of the stored payloads:{0}")]
    Unreadable(StartProblems),
    /// A worker's connection does not keep its session: the address belongs to a transaction
    /// pooler.
    #[error(
        "this address does not keep a session, as with a pooler in transaction or statement mode \
         (PgBouncer, pgpool-II by statement, PGlite's socket); connect the worker to the server \
         itself, or through a session pool (programs that only enqueue may keep this address)"
    )]
    TransactionPooler,
    /// Row security is enabled on tables of jobkit and may hide rows from this role, so the worker
    /// would not find its jobs.
    #[error(
        "row security hides rows of {tables} (in the schema jobkit) from this role; disable it \
         there, or let the role bypass it: alter role … bypassrls, or a policy for all using (true)"
    )]
    RowSecurity {
        /// The tables.
        tables: String,
    },
    /// A database call failed, or the schema does not fit.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Why a worker run [on demand](crate::Worker::on_demand) ended before it was told to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A time is out of range.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// The process cannot listen for signals.
    #[error("cannot listen for signals: {0}")]
    Signals(#[source] std::io::Error),
    /// The worker could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Why the jobs of this binary were not announced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnnounceError {
    /// Some jobs are invalid. All problems are listed.
    #[error("the jobs cannot be announced:{0}")]
    Problems(StartProblems),
    /// A database call failed, or the schema does not fit.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Why a connection failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address is invalid.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    /// The database cannot be reached, or refuses the connection.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// A text that is not the address of a database. The error does not contain it, as it may include a
/// password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a database address ({0}); write postgres://user:password@host/database")]
pub struct InvalidAddress(pub(crate) String);
