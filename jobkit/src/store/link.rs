use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgDatabaseError};
use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::time::timeout;
use tracing::Instrument;

use super::idle::{IdleConnections, Open};
use super::session::{Deadlines, Plans};
use super::source::{Source, require_writes};
use super::statements::SchemaCheck;
use super::turns::{Patience, Turns};
use super::{Call, session};
use crate::error::{DatabaseError, StartError};

/// How many prepared statements a connection keeps: more than there are.
const STATEMENTS: usize = 200;

/// A service's own connection, opened when needed.
///
/// If connections are few, several services [share](Self::sharing) one, and their calls take turns.
///
/// There is no pool: each service makes one call at a time, and after a call with an unclear result
/// (no answer in time, a broken connection) nobody else may use its connection. While a call runs
/// the connection is out of the link; only a clear answer puts it back.
pub(crate) struct Link {
    name: &'static str,
    /// Its options are read for each connection: a password may have been rotated.
    source: Source,
    /// Its lock timeout is that of most calls; see [`Patience`].
    deadlines: Deadlines,
    plans: Plans,
    /// Whether it serves an operator, who may only need to read, and may connect through a
    /// transaction pooler: then other clients use the session after each transaction, so it is left
    /// unchanged.
    operator: bool,
    /// Whether a new connection first checks the schema; a worker does that when it starts.
    checks: bool,
    /// The idle connections that it takes its connection from, and returns it to.
    idle: Option<Arc<IdleConnections>>,
    turns: Arc<Turns>,
    /// Set if its calls let those of others go first.
    patience: Option<Patience>,
}

impl Link {
    /// How often a call that conflicts with others (deadlock, serialization) is tried in total.
    const TRIES: u32 = 4;

    /// How long an operator waits for a connection.
    const OPENING: Duration = Duration::from_secs(2);

    /// The part of a call's deadline for which it waits for a lock on a shared connection, where
    /// everybody else waits, too.
    const LOCK_PART: f64 = 0.05;

    pub(crate) fn new(name: &'static str, source: impl Into<Source>, deadlines: Deadlines) -> Self {
        Self {
            name,
            source: source.into(),
            deadlines,
            plans: Plans::Free,
            operator: false,
            checks: false,
            idle: None,
            turns: Arc::default(),
            patience: None,
        }
    }

    /// Gives up early if it cannot connect, and accepts read-only servers, which refuse writes
    /// themselves. Each call is a transaction with its own settings.
    pub(crate) fn of_operator(self) -> Self {
        Self { operator: true, checks: true, ..self }
    }

    /// Skips the check of the schema.
    pub(crate) fn unchecked(self) -> Self {
        Self { checks: false, ..self }
    }

    /// Uses these plans, on a connection that is not shared.
    pub(crate) fn planning(self, plans: Plans) -> Self {
        Self { plans, ..self }
    }

    /// Uses these plans, on an idle connection if there is one.
    pub(crate) fn reusing(self, idle: &Arc<IdleConnections>, plans: Plans) -> Self {
        Self { plans, idle: Some(Arc::clone(idle)), ..self }
    }

    /// Shares a connection with others, and lets them go first if it is patient. Calls there never
    /// wait long for a lock, except occasionally a patient one.
    pub(crate) fn sharing(self, turns: &Arc<Turns>, patient: bool) -> Self {
        let Deadlines { call, lock } = self.deadlines;
        let patience = patient.then(|| Patience::of(lock));
        let deadlines = Deadlines { call, lock: call.mul_f64(Self::LOCK_PART) };
        Self { patience, deadlines, ..self.on(turns) }
    }

    /// Shares a connection with others, but uses the timeouts of a connection of its own.
    pub(crate) fn on(self, turns: &Arc<Turns>) -> Self {
        Self { turns: Arc::clone(turns), ..self }
    }

    /// Makes one call. Conflicts are retried here; every other error is returned.
    pub(crate) async fn call<C: Call>(&mut self, call: &C) -> Result<C::Answer, DatabaseError> {
        let (mut tries, mut lock) = (1, self.deadlines.lock);
        loop {
            match self.attempt(call, lock).await {
                Err(error)
                    if tries < Self::TRIES
                        && matches!(error.code().as_deref(), Some("40001" | "40P01")) =>
                {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(fastrand::u64(1..20))).await;
                }
                Err(error) if tries < Self::TRIES && is_outdated(&error) => {
                    tries = Self::TRIES;
                    *self.turns.take(self.is_patient()).await.connection = None;
                }
                Err(error) if error.is_locked() => {
                    let longer = self.patience.as_mut().and_then(Patience::take);
                    lock = longer.ok_or(error)?;
                }
                answer => return answer,
            }
        }
    }

    fn is_patient(&self) -> bool {
        self.patience.is_some()
    }

    /// Whether the next call already has a connection, which may have broken meanwhile.
    pub(crate) fn is_open(&self) -> bool {
        self.turns.unused().is_none_or(|connection| connection.is_some())
    }

    /// Opens the connection unless there is one, so that a failure to connect is not one of a call.
    /// If somebody else is using it, it is open or just being opened, and this does not wait.
    pub(crate) async fn open_if_closed(&self) -> Result<(), DatabaseError> {
        match self.turns.unused() {
            Some(mut connection) => self.open_in(&mut connection).await,
            None => Ok(()),
        }
    }

    async fn open_in(&self, connection: &mut Option<Open>) -> Result<(), DatabaseError> {
        if connection.is_none()
            && let Some(idle) = &self.idle
        {
            *connection = idle.take().await;
        }
        // It was to a host that is no longer used.
        let kept = self.source.kept();
        connection.take_if(|open| open.host != kept);
        if connection.is_none() {
            let most = if self.operator { Self::OPENING } else { self.deadlines.call };
            let deadline = most.min(self.deadlines.call);
            let opened = self.open(deadline).await;
            // If the server refuses a session (a changed password, too many connections), that says
            // nothing about the call.
            let (opened, host) = opened.map_err(|error| match error {
                DatabaseError::Failed(error) => DatabaseError::Unreachable(error),
                error => error,
            })?;
            let (since, lock) = (Instant::now(), self.deadlines.lock);
            *connection = Some(Open { connection: opened, since, host, fits: false, lock });
        }
        Ok(())
    }

    /// Whether this binary can work with the schema as it is.
    pub(crate) async fn check_schema(&mut self) -> Result<(), DatabaseError> {
        self.call(&SchemaCheck).await?
    }

    /// Refuses an address at which a connection does not keep a session.
    pub(crate) async fn require_own_session(&self) -> Result<(), StartError> {
        let ask = |options: PgConnectOptions| async move {
            session::require_own(&options.disable_statement_logging()).await
        };
        self.source.open(self.deadlines.call, ask).await.map(|_| ())
    }

    /// Makes a call once, waiting at most this long for a lock.
    async fn attempt<C: Call>(&self, call: &C, lock: Duration) -> Result<C::Answer, DatabaseError> {
        let mut turn = self.turns.take(self.is_patient()).await;
        self.open_in(&mut turn.connection).await?;
        // The time starts with the turn.
        let deadline = self.deadlines.call;
        let mut open = turn.connection.take().expect("it was just opened");
        // A little more than the server's own timeout, whose error says more than ours.
        let patience = deadline + deadline / 10;
        let (began, host) = (Instant::now(), open.host);
        let answer = self.ask(&mut open, call, lock);
        let answer = timeout(patience, answer.instrument(call.span()));
        let answer = tokio::select! {
            answer = answer => answer,
            // As with a timeout: the result is unknown.
            () = self.source.left(host) => return Err(DatabaseError::Deadline(began.elapsed())),
        };
        match answer {
            Ok(Ok(answer)) => {
                *turn.connection = Some(open);
                answer
            }
            Ok(Err(error)) => {
                let clear = error.as_database_error().is_some();
                let error = DatabaseError::from(error);
                if clear
                    && !matches!(error, DatabaseError::Unreachable(_) | DatabaseError::ReadOnly)
                {
                    *turn.connection = Some(open);
                }
                Err(error)
            }
            Err(_) => Err(DatabaseError::Deadline(patience)),
        }
    }

    /// Makes the call if the schema fits.
    async fn ask<C: Call>(
        &self,
        Open { connection, fits, lock: set, .. }: &mut Open,
        call: &C,
        lock: Duration,
    ) -> sqlx::Result<Result<C::Answer, DatabaseError>> {
        if !self.operator {
            if *set != lock {
                session::wait_for_locks(connection, lock).await?;
                *set = lock;
            }
            return Ok(Ok(call.call(connection).await?));
        }
        let (deadlines, plans) = (self.deadlines, self.plans);
        if self.checks && !*fits {
            let checked = session::for_operator(connection, deadlines, plans, &SchemaCheck).await?;
            if let Err(unfit) = checked {
                return Ok(Err(unfit));
            }
            *fits = true;
        }
        Ok(Ok(session::for_operator(connection, deadlines, plans, call).await?))
    }

    async fn open(&self, most: Duration) -> Result<(PgConnection, usize), DatabaseError> {
        let (name, operator) = (self.name, self.operator);
        let (deadlines, plans) = (self.deadlines, self.plans);
        let writes = operator && self.source.wants_writes();
        let open = |options: PgConnectOptions| async move {
            let options = options.disable_statement_logging();
            let options = options.application_name(&["jobkit ", name].concat());
            // Whatever the pool's capacity is: with 0, sqlx forgets what it has prepared, but the
            // server does not.
            let options = options.statement_cache_capacity(STATEMENTS);
            // Not every pooler supports this setting, and an operator reads no floats as text.
            let options = if operator { options.extra_float_digits(None) } else { options };
            let mut connection = options.connect().await?;
            if writes {
                require_writes(&mut connection).await?;
            } else if !operator {
                session::own(&mut connection, deadlines, plans).await?;
            }
            Ok(connection)
        };
        self.source.open(most, open).await
    }

    /// Returns the connection to the idle ones; without these, closes it cleanly unless it is
    /// shared.
    pub(crate) async fn close(self) {
        let Some(turns) = Arc::into_inner(self.turns) else { return };
        match (turns.into_connection(), self.idle) {
            (Some(open), Some(idle)) => idle.put(open),
            (Some(open), None) => farewell(open).await,
            (None, _) => {}
        }
    }

    /// Closes the connection until the next call, unless it is shared.
    pub(crate) async fn disconnect(&self) {
        if Arc::strong_count(&self.turns) == 1
            && let Some(open) = self.turns.unused().and_then(|mut connection| connection.take())
        {
            farewell(open).await;
        }
    }
}

async fn farewell(open: Open) {
    // Whether or not the server hears it, the connection is gone.
    let _farewell = timeout(Duration::from_secs(1), open.connection.close()).await;
}

/// Whether the server refused a prepared statement, before doing anything, because tables have
/// changed since it was prepared.
fn is_outdated(error: &DatabaseError) -> bool {
    let DatabaseError::Failed(error) = error else { return false };
    let error = error.as_database_error().and_then(|error| error.try_downcast_ref());
    error.is_some_and(|error: &PgDatabaseError| error.routine() == Some("RevalidateCachedQuery"))
}
