use super::{DatabaseError, InvalidValue, StartProblems};

/// Why no worker was started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// What the worker was told, or its jobs, are not what they may be; every problem is named.
    #[error("the worker cannot start:{0}")]
    Problems(StartProblems),
    /// Some of what is stored does not decode into the jobs of this binary; each is named. Only
    /// [`Worker::preflight`](crate::Worker::preflight) looks.
    #[error("this binary cannot read some of the stored payloads:{0}")]
    Unreadable(StartProblems),
    /// A worker's connection does not keep its session: the address is that of a transaction
    /// pooler.
    #[error(
        "this address does not keep a session, like a pooler in transaction or statement mode \
         (PgBouncer, pgpool-II by statement, PGlite's socket); connect the worker to the server \
         itself, or through a session pool (programs that only enqueue may keep this address)"
    )]
    TransactionPooler,
    /// Row security is on for tables of jobkit, and may hide rows from this role: its jobs would
    /// not be found.
    #[error(
        "row security hides rows of {tables} (in the schema jobkit) from this role; disable it \
         there, or let the role bypass it: alter role … bypassrls, or a policy for all using (true)"
    )]
    RowSecurity {
        /// Which tables.
        tables: String,
    },
    /// The database did not do its part, or has no schema that fits.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Why a worker [on demand](crate::Worker::on_demand) did not run until it was told to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A time is out of range.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// Signals cannot be heard.
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
    /// Something is wrong with the jobs; every problem is named.
    #[error("the jobs cannot be announced:{0}")]
    Problems(StartProblems),
    /// The database did not do it, or has no schema that fits.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// There is no database to be found at such an address.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    /// The database is not there, or does not let in whoever the address names.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// This is not the address of a database. It is not repeated here: it may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a database address ({0}); write postgres://user:password@host/database")]
pub struct InvalidAddress(pub(crate) String);
