//! Where connections come from: a pool's options, and if an address names several hosts, the one
//! that accepts writes now.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgExecutor, PgPool, Row};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::address::{Address, Wanted};
use crate::error::{DatabaseError, InvalidAddress, StartError};

/// The maximum of a pool that jobkit creates.
const CONNECTIONS: u32 = 16;

/// A pool and, if its address named several hosts, these. The pool's options are those of the
/// current host. A service that cannot connect there tries all hosts and sets the options to
/// another one; other services and the pool itself follow.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pool: PgPool,
    /// `None` if there is only one host, which needs no extra checks.
    hosts: Option<Arc<Hosts>>,
}

#[derive(Debug)]
struct Hosts {
    all: Vec<PgConnectOptions>,
    wanted: Wanted,
    /// The number of the current host.
    kept: watch::Sender<usize>,
}

impl From<PgPool> for Source {
    fn from(pool: PgPool) -> Self {
        Self { pool, hosts: None }
    }
}

impl Source {
    /// The source at this address. Workers and operators only use the pool's options, so the pool
    /// opens no connection unless it is used to enqueue, and needs no background task.
    pub(crate) fn at(url: &str) -> Result<Self, InvalidAddress> {
        let Address { hosts: all, wanted } = Address::parse(url)?;
        let pool = PgPoolOptions::new().max_connections(CONNECTIONS);
        let pool = pool.idle_timeout(None).max_lifetime(None);
        let pool = pool.connect_lazy_with(all[0].clone());
        let several = all.len() > 1;
        let hosts = several.then(|| Arc::new(Hosts { all, wanted, kept: watch::Sender::new(0) }));
        Ok(Self { pool, hosts })
    }

    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Whether there are several hosts.
    pub(crate) fn is_a_choice(&self) -> bool {
        self.hosts.is_some()
    }

    /// Whether a read-only server is not the wanted one, and another host may be.
    pub(super) fn wants_writes(&self) -> bool {
        self.hosts.as_ref().is_some_and(|hosts| hosts.wanted == Wanted::Writes)
    }

    /// The number of the current host.
    pub(super) fn kept(&self) -> usize {
        self.hosts.as_ref().map_or(0, |hosts| *hosts.kept.borrow())
    }

    /// Completes when this is no longer the current host, so that calls to it are pointless.
    pub(super) async fn left(&self, host: usize) {
        let Some(hosts) = &self.hosts else { return std::future::pending().await };
        let mut kept = hosts.kept.subscribe();
        // This fails only without a sender.
        let _left = kept.wait_for(|kept| *kept != host).await;
    }

    /// Opens something at the current host, or else at the first host where that succeeds, which
    /// becomes the current one. Returns its number, too.
    ///
    /// Half the time is for the current host, the other half for all hosts at once, so that a
    /// frozen one does not delay the others.
    pub(super) async fn open<T: Send + 'static, E: Unopened, F>(
        &self,
        most: Duration,
        open: impl Fn(PgConnectOptions) -> F,
    ) -> Result<(T, usize), E>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let Some(hosts) = &self.hosts else {
            let opened = open(self.pool.connect_options().as_ref().clone());
            let opened =
                timeout(most, opened).await.map_err(|_| DatabaseError::unreachable(most))?;
            return Ok((opened?, 0));
        };
        let kept = self.kept();
        let first = open(self.pool.connect_options().as_ref().clone());
        if let Ok(Ok(opened)) = timeout(most / 2, first).await {
            return Ok((opened, kept));
        }
        let mut all = JoinSet::new();
        for (host, options) in hosts.all.iter().cloned().enumerate() {
            let opened = open(options);
            all.spawn(async move { opened.await.map(|opened| (opened, host)) });
        }
        let first = timeout(most / 2, first_of(all)).await;
        let (opened, host) = first.map_err(|_| DatabaseError::unreachable(most))??;
        self.keep(hosts, host);
        Ok((opened, host))
    }

    fn keep(&self, hosts: &Hosts, host: usize) {
        let changed = |kept: &mut usize| {
            let changed = *kept != host;
            if changed {
                self.pool.set_connect_options(hosts.all[host].clone());
                *kept = host;
            }
            changed
        };
        if hosts.kept.send_if_modified(changed) {
            let (name, port) = (hosts.all[host].get_host(), hosts.all[host].get_port());
            tracing::warn!(host = name, port, "jobkit: now at another host of the address");
        }
    }
}

/// Why nothing was opened at a host.
pub(super) trait Unopened: From<DatabaseError> + Send + 'static {
    /// Whether the server did not answer at all.
    fn is_silence(&self) -> bool;
}

impl Unopened for DatabaseError {
    fn is_silence(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

impl Unopened for StartError {
    fn is_silence(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_silence())
    }
}

/// The first success, or the most informative failure.
async fn first_of<T: 'static, E: Unopened>(mut all: JoinSet<Result<T, E>>) -> Result<T, E> {
    let mut failure = None;
    while let Some(opened) = all.join_next().await {
        match opened {
            Ok(Ok(opened)) => return Ok(opened),
            // The error of a server that answered says more than that of an unreachable one.
            Ok(Err(error)) => match (&failure, &error) {
                (Some(_), error) if error.is_silence() => {}
                _ => failure = Some(error),
            },
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        }
    }
    Err(failure.expect("there are several hosts"))
}

/// Refuses a read-only server.
pub(super) async fn require_writes(connection: impl PgExecutor<'_>) -> Result<(), DatabaseError> {
    let ask = "select pg_catalog.current_setting('transaction_read_only') operator(pg_catalog.=) \
               'on' as reads_only";
    let reads_only: bool = sqlx::raw_sql(ask).fetch_one(connection).await?.try_get("reads_only")?;
    if reads_only { Err(DatabaseError::ReadOnly) } else { Ok(()) }
}
