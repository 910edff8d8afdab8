use std::time::Duration;

use sqlx::{ConnectOptions, Connection, PgConnection, PgPool, Row};
use tokio::time::timeout;
use tracing::Instrument;

use super::Call;
use crate::Error;

/// How long the engine waits for the database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadlines {
    /// For a call, with everything it waits for; also the server's `statement_timeout`.
    pub(crate) call: Duration,
    /// For one lock.
    pub(crate) lock: Duration,
}

/// A service's own connection, opened when needed.
///
/// No pool: each service makes one call at a time, and a call that failed in an unclear way (no
/// answer in time, a broken connection) must never leave its connection to anybody else. While a
/// call runs the connection is out of the link; only a clear answer puts it back.
pub(crate) struct Link {
    name: &'static str,
    /// Asked for its options at each connection: a password may have been rotated.
    pool: PgPool,
    deadlines: Deadlines,
    /// Whether the server may choose to read a whole table where there is an index.
    scans: bool,
    connection: Option<PgConnection>,
}

impl Link {
    /// How often a call that clashed with others (deadlock, serialization) is tried in all.
    const TRIES: u32 = 4;

    pub(crate) fn new(name: &'static str, pool: PgPool, deadlines: Deadlines) -> Self {
        Self { name, pool, deadlines, scans: true, connection: None }
    }

    /// Follows indexes whatever the statistics say: for bounded looks at tables of any size.
    pub(crate) fn by_index(self) -> Self {
        Self { scans: false, ..self }
    }

    /// Makes one call. Clashes are retried here; every other error is the caller's.
    pub(crate) async fn call<C: Call>(&mut self, call: &C) -> Result<C::Answer, Error> {
        let mut tries = 1;
        loop {
            match self.attempt(call).await {
                Err(error)
                    if tries < Self::TRIES
                        && matches!(error.code().as_deref(), Some("40001" | "40P01")) =>
                {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(fastrand::u64(1..20))).await;
                }
                answer => return answer,
            }
        }
    }

    /// Opens the connection unless there is one: its failure then is not that of a call.
    pub(crate) async fn open_if_closed(&mut self) -> Result<(), Error> {
        if self.connection.is_none() {
            let deadline = self.deadlines.call;
            let opened = timeout(deadline, self.open()).await;
            self.connection = Some(opened.map_err(|_| Error::unreachable(deadline))??);
        }
        Ok(())
    }

    async fn attempt<C: Call>(&mut self, call: &C) -> Result<C::Answer, Error> {
        self.open_if_closed().await?;
        let deadline = self.deadlines.call;
        let mut connection = self.connection.take().expect("it was just opened");
        // A little more than the server's own timeout: its answer says more than our silence.
        let patience = deadline + deadline / 10;
        let answer = call.call(&mut connection).instrument(call.span());
        match timeout(patience, answer).await {
            Ok(Ok(answer)) => {
                self.connection = Some(connection);
                Ok(answer)
            }
            Ok(Err(error)) => {
                let clear = error.as_database_error().is_some();
                let error = Error::from(error);
                if clear && !matches!(error, Error::Unreachable(_) | Error::ReadOnly) {
                    self.connection = Some(connection);
                }
                Err(error)
            }
            Err(_) => Err(Error::Deadline(patience)),
        }
    }

    async fn open(&self) -> Result<PgConnection, Error> {
        let options = self.pool.connect_options().as_ref().clone().disable_statement_logging();
        let mut connection = options.connect().await?;
        let milliseconds = |time: Duration| time.as_millis().max(1).to_string();
        let row = sqlx::query(include_str!("sql/session_open.sql"))
            .bind(["jobkit ", self.name].concat())
            .bind(milliseconds(self.deadlines.call))
            .bind(milliseconds(self.deadlines.lock))
            .bind(self.scans)
            .fetch_one(&mut connection)
            .await?;
        if row.try_get("reads_only")? { Err(Error::ReadOnly) } else { Ok(connection) }
    }

    /// Closes the connection, if one is open, in the orderly way; for good.
    pub(crate) async fn close(mut self) {
        self.disconnect().await;
    }

    /// Closes the connection until the next call.
    pub(crate) async fn disconnect(&mut self) {
        if let Some(connection) = self.connection.take() {
            // Whether or not the server hears the farewell, the connection is gone.
            let _farewell = timeout(Duration::from_secs(1), connection.close()).await;
        }
    }
}
