use std::time::Duration;

use crate::error_text::{full, is_of_a_standby, names_ours, said, unreachable};
pub use crate::problems::StartProblems;

/// The SQLSTATE of an enqueue to a queue that is full.
pub(crate) const QUEUE_FULL: &str = "JK009";

/// What went wrong, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The payload does not become JSON, or JSON does not give it back as it was.
    #[error("the payload of `{kind}` does not encode: {source}")]
    Encode {
        /// The job's kind.
        kind: &'static str,
        /// What serde said, or where in the payload it would arrive changed.
        source: serde_json::Error,
    },
    /// What the kind (the first text) encrypts cannot be sealed, for a reason (the second); nothing
    /// was stored.
    #[error("the payload of `{0}` cannot be encrypted: {1}")]
    Encrypt(String, String),
    /// A path that the kind redacts or encrypts leads nowhere in this payload, though there is
    /// something on the way, so it is unclear what in that must not be shown. Nothing was stored.
    #[error("the payload of `{kind}` cannot be redacted or encrypted: {why}")]
    Misplaced {
        /// The job's kind.
        kind: &'static str,
        /// The path.
        path: String,
        /// What is wrong, and what to do about it; without a value of the payload.
        why: String,
    },
    /// A payload is larger than 1 MiB. Store the large part elsewhere and enqueue its key.
    #[error(
        "the payload of `{kind}` has {bytes} bytes, more than the {limit} allowed; store the large \
         part elsewhere and put its key into the job"
    )]
    PayloadTooLarge {
        /// The job's kind.
        kind: &'static str,
        /// Size of the payload as JSON text.
        bytes: usize,
        /// The largest size allowed.
        limit: usize,
    },
    /// One call enqueues more payload than fits in one message to the server. Split the call.
    #[error(
        "the payloads of one call have {bytes} bytes, more than the {limit} allowed; split the \
         jobs over several calls in one transaction"
    )]
    BatchTooLarge {
        /// Size of all payloads together.
        bytes: usize,
        /// The largest size allowed.
        limit: usize,
    },
    /// A queue, kind, key or tag is longer than its limit (or a queue or kind is empty).
    #[error("the {what} has {bytes} bytes; 1 to {limit} are allowed")]
    Length {
        /// Which text.
        what: &'static str,
        /// Its size in UTF-8 bytes.
        bytes: usize,
        /// The largest size allowed.
        limit: usize,
    },
    /// A number or duration is outside its range.
    #[error("the {what} is {value}; {range} is allowed")]
    Range {
        /// Which setting.
        what: &'static str,
        /// The value given.
        value: i64,
        /// The values allowed.
        range: &'static str,
    },
    /// The metadata is not a JSON object, so what [`expires`](crate::enqueue::Pending::expires) and
    /// [`retry_for`](crate::enqueue::Pending::retry_for) say cannot be stored in it.
    #[error(
        "the metadata is not a JSON object, so it cannot say when the job expires or how long it \
         is retried; make it an object"
    )]
    Metadata,
    /// A checkpoint does not become JSON, or the last one does not read as the requested type.
    #[error("the checkpoint cannot be encoded, or is not of the requested type: {0}")]
    Checkpoint(#[source] serde_json::Error),
    /// This attempt no longer holds its job; another attempt may be running it by now.
    #[error("this attempt has lost its job; nothing was stored")]
    ClaimLost,
    /// Somebody has cancelled the job: it is not completed, and ends as cancelled.
    #[error("the job was cancelled; it was not completed")]
    Cancelled,
    /// A job cannot be completed in this transaction: at its isolation level it may decide on what
    /// was true before it waited. Begin it as READ COMMITTED, the default.
    #[error(
        "a job can only be completed in a READ COMMITTED transaction; do not raise the isolation \
         level, or complete in another transaction"
    )]
    Isolation,
    /// The transaction does not see the job that its handler wants to complete, although the worker
    /// holds it.
    #[error(
        "this transaction does not see the job; begin it in the database of the worker (in a test \
         whose own transaction has the job: share that connection with the handler, and drain \
         through a mutex)"
    )]
    OtherDatabase,
    /// Signals cannot be heard.
    #[error("cannot listen for signals: {0}")]
    Signals(#[source] std::io::Error),
    /// A text contains a NUL character, which PostgreSQL cannot store.
    #[error("the {what} contains a NUL character, which PostgreSQL cannot store; remove it")]
    Nul {
        /// Which text.
        what: &'static str,
    },
    /// The tables are not there. Run [`migrate`](crate::migrate()).
    #[error("this database has no jobkit schema; run `jobkit::migrate(&pool)` first")]
    SchemaMissing,
    /// The tables are older than this binary. Run [`migrate`](crate::migrate()).
    #[error(
        "the jobkit schema is at version {found} and this binary needs {needed}; run \
         `jobkit::migrate(&pool)` first"
    )]
    SchemaOlder {
        /// Version in the database.
        found: i32,
        /// Version this binary was built for.
        needed: i32,
    },
    /// The tables were migrated beyond what this binary can work with. Deploy a newer binary.
    #[error(
        "the jobkit schema is at version {found} and no longer works with binaries built for \
         {known}; deploy a binary with a newer jobkit"
    )]
    SchemaNewer {
        /// Version in the database.
        found: i32,
        /// Version this binary was built for.
        known: i32,
    },
    /// The tables do not fit what this binary sends: they are older than it, or were migrated
    /// beyond what it can work with. [`migrate`](crate::migrate()) fixes the former and reports the
    /// latter.
    #[error(
        "the jobkit schema does not fit this binary; run `jobkit::migrate(&pool)`, and if that \
         fails because the schema is newer, deploy a binary with a newer jobkit"
    )]
    SchemaUnfit,
    /// A migration in the database differs from the one in this binary.
    #[error(
        "migration {version} of the jobkit schema differs from the one in this binary; undo the \
         edit: an applied migration must not change"
    )]
    SchemaEdited {
        /// The migration.
        version: i32,
    },
    /// PostgreSQL is older than version 14.
    #[error("this server is PostgreSQL {version}; jobkit needs 14 or newer")]
    ServerTooOld {
        /// The server's version.
        version: i32,
    },
    /// The database stores text in an encoding other than UTF-8.
    #[error(
        "the encoding of this database is {found} and jobkit needs UTF8; make another: create \
         database … encoding 'UTF8' template template0"
    )]
    Encoding {
        /// The encoding of the database.
        found: String,
    },
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
    /// This is not the address of a database. It is not repeated here: it may contain a password.
    #[error("this is not a database address ({0}); write postgres://user:password@host/database")]
    Address(String),
    /// The server cannot be reached, or not in time.
    #[error("{}", unreachable(.0))]
    Unreachable(#[source] sqlx::Error),
    /// The server did not answer within the deadline.
    #[error("PostgreSQL did not answer within {0:?}")]
    Deadline(Duration),
    /// The server is read-only: a standby, a demoted primary, or a database that is read-only by
    /// default.
    #[error(
        "this server is read-only (a standby?); connect to the primary, or turn off \
         default_transaction_read_only where that is set"
    )]
    ReadOnly,
    /// Somebody else's open transaction has held this for a second. Try again later.
    #[error("another transaction has this locked; try again later")]
    Busy,
    /// As many jobs wait in this queue as may. Nothing was stored, not even the other jobs of a
    /// call that enqueues several. Try again later, or do without.
    #[error(
        "the queue `{queue}` is full: {waiting} jobs are waiting, and its bound is {bound}; \
         nothing was stored, so try again later"
    )]
    QueueFull {
        /// The queue.
        queue: String,
        /// How many of its jobs were waiting at the last count.
        waiting: u32,
        /// How many may.
        bound: u32,
    },
    /// A dead letter that is being replayed cannot be removed: cancel the jobs that replay it
    /// first.
    #[error("dead letters that are being replayed cannot be removed; cancel their jobs first")]
    Replaying,
    /// A worker cannot start; every problem is named.
    #[error("the worker cannot start:{0}")]
    Start(StartProblems),
    /// The jobs of this binary cannot be announced; every problem is named.
    #[error("the jobs cannot be announced:{0}")]
    Announce(StartProblems),
    /// Some of what is stored does not decode into the jobs of this binary; each is named.
    #[error("this binary cannot read some of the stored payloads:{0}")]
    Preflight(StartProblems),
    /// Any other answer of the database.
    #[error("database error: {}", said(.0))]
    Database(#[source] sqlx::Error),
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        match &error {
            E::Io(_) | E::Tls(_) | E::PoolTimedOut | E::PoolClosed | E::WorkerCrashed => {
                Self::Unreachable(error)
            }
            E::Database(answer) => match answer.code().as_deref() {
                // Without the schema no function is looked for.
                Some("3F000" | "42P01") if names_ours(answer.message()) => Self::SchemaMissing,
                Some("42883") if names_ours(answer.message()) => Self::SchemaUnfit,
                Some("25006") => Self::ReadOnly,
                Some("0A000") if is_of_a_standby(&**answer) => Self::ReadOnly,
                Some(QUEUE_FULL) => match full(answer.message()) {
                    Some((queue, waiting, bound)) => Self::QueueFull { queue, waiting, bound },
                    None => Self::Database(error),
                },
                Some(code) if code.starts_with("08") || code.starts_with("57P") => {
                    Self::Unreachable(error)
                }
                _ => Self::Database(error),
            },
            _ => Self::Database(error),
        }
    }
}

impl Error {
    /// No connection came about in this time.
    pub(crate) fn unreachable(deadline: Duration) -> Self {
        let text = format!("no connection within {deadline:?}");
        let error = std::io::Error::new(std::io::ErrorKind::TimedOut, text);
        Self::Unreachable(sqlx::Error::Io(error))
    }

    /// The SQLSTATE of a database error.
    pub(crate) fn code(&self) -> Option<String> {
        match self {
            Self::Database(error) | Self::Unreachable(error) => {
                Some(error.as_database_error()?.code()?.into_owned())
            }
            _ => None,
        }
    }

    /// Whether the history lacks the day of a job's expiry: its table was dropped, to be made anew.
    pub(crate) fn lacks_a_day(&self) -> bool {
        matches!(self, Self::Database(sqlx::Error::Database(answer))
            if answer.code().as_deref() == Some("23514") && answer.table() == Some("finished"))
    }

    /// This error; but a lock that was not to be had in time is called what it is.
    pub(crate) fn or_busy(self) -> Self {
        if self.code().as_deref() == Some("55P03") { Self::Busy } else { self }
    }

    /// Whether the server did as it was asked to, and refused: nothing was lost on the way.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Database(_)) && self.code().is_some()
    }

    /// Whether one row may be the cause, and the same goes well without it: it is damaged, has no
    /// room, lacks what the server asks of it, … What comes and goes without anybody's doing is
    /// another's doing: lost connections, clashes, locks.
    pub(crate) fn may_be_one_row(&self) -> bool {
        let passing = |code: String| code.starts_with("40") || code == "55P03";
        self.is_answer() && !self.code().is_some_and(passing)
    }

    /// The same, or the unique key of one is in the hands of somebody's open transaction.
    pub(crate) fn may_be_one_job(&self) -> bool {
        self.may_be_one_row() || self.code().as_deref() == Some("55P03")
    }

    /// Whether the server refused the statement itself, so that repeating it as it is won't help.
    /// Deadlines, lost connections, lack of resources and clashes with others may pass.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Database(_) => !self.code().is_none_or(|code| {
                ["40", "53", "55", "57", "58", "XX"].iter().any(|class| code.starts_with(class))
            }),
            _ => false,
        }
    }
}
