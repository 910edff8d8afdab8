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
/// Where connections are few, several services [share](Self::sharing) one, and their calls take
/// turns.
///
/// No pool: each service makes one call at a time, and a call that failed in an unclear way (no
/// answer in time, a broken connection) must never leave its connection to anybody else. While a
/// call runs the connection is out of the link; only a clear answer puts it back.
pub(crate) struct Link {
    name: &'static str,
    /// Asked for its options at each connection: a password may have been rotated.
    source: Source,
    /// Its lock timeout is that of most calls; see [`Patience`].
    deadlines: Deadlines,
    plans: Plans,
    /// Whether an operator waits for it, who may do with reading, and perhaps comes through a
    /// transaction pooler: the session is a stranger's after each transaction, so it is left as it
    /// was.
    operator: bool,
    /// Whether a new connection shows first that this binary works with the schema: a worker looks
    /// when it starts.
    checks: bool,
    /// Where its connection comes from, and goes when the link is closed.
    idle: Option<Arc<IdleConnections>>,
    turns: Arc<Turns>,
    /// Of one whose calls let those of the others go first.
    patience: Option<Patience>,
}

impl Link {
    /// How often a call that clashed with others (deadlock, serialization) is tried in all.
    const TRIES: u32 = 4;

    /// How long an operator waits for a connection.
    const OPENING: Duration = Duration::from_secs(2);

    /// Which part of a call's deadline a lock is waited for on a connection of several: whoever
    /// waits there has all wait.
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

    /// Gives up soon where no connection comes about, and reads where nothing can be written: the
    /// server refuses what would write. Each call is a transaction with settings of its own.
    pub(crate) fn of_operator(self) -> Self {
        Self { operator: true, checks: true, ..self }
    }

    /// Works with whatever schema there is.
    pub(crate) fn unchecked(self) -> Self {
        Self { checks: false, ..self }
    }

    /// Plans like this, on a connection that is not shared.
    pub(crate) fn planning(self, plans: Plans) -> Self {
        Self { plans, ..self }
    }

    /// Plans like this, on an idle connection if there is one.
    pub(crate) fn reusing(self, idle: &Arc<IdleConnections>, plans: Plans) -> Self {
        Self { plans, idle: Some(Arc::clone(idle)), ..self }
    }

    /// On the same connection as others, and after them if it is patient. No lock is waited for
    /// there for long, but for now and then by a patient one.
    pub(crate) fn sharing(self, turns: &Arc<Turns>, patient: bool) -> Self {
        let Deadlines { call, lock } = self.deadlines;
        let patience = patient.then(|| Patience::of(lock));
        let deadlines = Deadlines { call, lock: call.mul_f64(Self::LOCK_PART) };
        Self { patience, deadlines, ..self.on(turns) }
    }

    /// On the same connection as others, and like one that has it for itself.
    pub(crate) fn on(self, turns: &Arc<Turns>) -> Self {
        Self { turns: Arc::clone(turns), ..self }
    }

    /// Makes one call. Clashes are retried here; every other error is the caller's.
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

    /// Whether the next call has a connection already, if only one that broke meanwhile.
    pub(crate) fn is_open(&self) -> bool {
        self.turns.unused().is_none_or(|connection| connection.is_some())
    }

    /// Opens the connection unless there is one: its failure then is not that of a call. One that
    /// somebody else is using is open, or just being opened; nobody waits for that.
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
        // One to a host that is not kept any more.
        let kept = self.source.kept();
        connection.take_if(|open| open.host != kept);
        if connection.is_none() {
            let most = if self.operator { Self::OPENING } else { self.deadlines.call };
            let deadline = most.min(self.deadlines.call);
            let opened = self.open(deadline).await;
            // Whatever the server has against a session (a password that was changed, too many of
            // them), it has nothing against what is about to be asked.
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

    /// Refuses an address where a connection has no session of its own.
    pub(crate) async fn require_own_session(&self) -> Result<(), StartError> {
        let ask = |options: PgConnectOptions| async move {
            session::require_own(&options.disable_statement_logging()).await
        };
        self.source.open(self.deadlines.call, ask).await.map(|_| ())
    }

    /// Makes a call once, which waits for so long for a lock.
    async fn attempt<C: Call>(&self, call: &C, lock: Duration) -> Result<C::Answer, DatabaseError> {
        let mut turn = self.turns.take(self.is_patient()).await;
        self.open_in(&mut turn.connection).await?;
        // It begins with the turn.
        let deadline = self.deadlines.call;
        let mut open = turn.connection.take().expect("it was just opened");
        // A little more than the server's own timeout: its answer says more than our silence.
        let patience = deadline + deadline / 10;
        let (began, host) = (Instant::now(), open.host);
        let answer = self.ask(&mut open, call, lock);
        let answer = timeout(patience, answer.instrument(call.span()));
        let answer = tokio::select! {
            answer = answer => answer,
            // As if the patience had ended: nobody knows what came of it.
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

    /// Asks, if the schema is one to ask.
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
            // Whatever the pool's is: with none sqlx forgets what it has prepared, and the server
            // not.
            let options = options.statement_cache_capacity(STATEMENTS);
            // Not every pooler knows this one, and an operator reads no floats as text.
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

    /// Gives the connection back to the idle ones; without these closes it in an orderly way, if
    /// nobody else has it.
    pub(crate) async fn close(self) {
        let Some(turns) = Arc::into_inner(self.turns) else { return };
        match (turns.into_connection(), self.idle) {
            (Some(open), Some(idle)) => idle.put(open),
            (Some(open), None) => farewell(open).await,
            (None, _) => {}
        }
    }

    /// Closes the connection until the next call, if nobody else has it.
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

/// Whether the server refused a prepared statement, before it did anything, because it does not
/// mean any more what it did: tables were changed since.
fn is_outdated(error: &DatabaseError) -> bool {
    let DatabaseError::Failed(error) = error else { return false };
    let error = error.as_database_error().and_then(|error| error.try_downcast_ref());
    error.is_some_and(|error: &PgDatabaseError| error.routine() == Some("RevalidateCachedQuery"))
}
