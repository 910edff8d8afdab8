//! All waits of a process on one database: one connection listens, another one queries.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};

use super::End;
use crate::JobId;
use crate::error::DatabaseError;
use crate::lock::Lock;
use crate::store::{Awaited, Deadlines, Link, News, Notifications, Source, await_jobs, ends_of};

/// The longest time between two queries, for ends that were not notified.
const POLL: Duration = Duration::from_secs(2);
/// The same while a transaction holds the row of a job: it may be its end.
const HELD: Duration = Duration::from_millis(20);
/// How long the listening connection may be silent before it is tested.
const SILENCE: Duration = Duration::from_secs(5);
/// How long a statement may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Those who wait for the end of a job.
#[derive(Debug, Default)]
struct Wait {
    senders: Vec<oneshot::Sender<End>>,
    /// Whether the last look at it found that it has not ended.
    lives: bool,
}

/// The waits at one database.
#[derive(Debug)]
pub(crate) struct Hub {
    source: Source,
    state: Lock<State>,
    /// A reason to query: a wait, a notification, a new connection.
    ring: Notify,
}

#[derive(Debug, Default)]
struct State {
    waits: BTreeMap<i64, Wait>,
    /// Whether a task serves them.
    tended: bool,
}

/// The hubs of pools, for callers that only have a pool.
static HUBS: Lock<Vec<(Arc<PgConnectOptions>, Weak<Hub>)>> = Lock::new(Vec::new());

impl Hub {
    pub(crate) fn new(source: Source) -> Self {
        Self { source, state: Lock::default(), ring: Notify::new() }
    }

    /// The hub that all who wait with this pool share.
    pub(crate) fn of(pool: &PgPool) -> Arc<Self> {
        let options = pool.connect_options();
        let mut hubs = HUBS.lock();
        hubs.retain(|(_, hub)| hub.strong_count() > 0);
        let known = hubs.iter().find(|(known, _)| Arc::ptr_eq(known, &options));
        known.and_then(|(_, hub)| hub.upgrade()).unwrap_or_else(|| {
            let hub = Arc::new(Self::new(pool.clone().into()));
            hubs.push((options, Arc::downgrade(&hub)));
            hub
        })
    }

    /// Waits for the end of a job, at most this long; `None` if it has not ended.
    ///
    /// # Errors
    /// [`DatabaseError::Deadline`] if the database could not be asked by then.
    pub(crate) async fn end_of(
        self: &Arc<Self>,
        job: JobId,
        within: Duration,
    ) -> Result<Option<End>, DatabaseError> {
        let ended = async {
            loop {
                // Without an answer, the task ended with its runtime: another one takes its place.
                if let Ok(end) = self.join(job).await {
                    break end;
                }
            }
        };
        match timeout(within, ended).await {
            Ok(end) => Ok(Some(end)),
            Err(_) if self.lives(job) => Ok(None),
            Err(_) => Err(DatabaseError::Deadline(within)),
        }
    }

    fn join(self: &Arc<Self>, job: JobId) -> oneshot::Receiver<End> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state.lock();
        state.waits.entry(job.0).or_default().senders.push(sender);
        if !std::mem::replace(&mut state.tended, true) {
            tokio::spawn(Tended(Arc::clone(self)).run());
        }
        drop(state);
        self.ring.notify_one();
        receiver
    }

    /// The jobs that somebody still waits for.
    fn wanted(&self) -> Vec<i64> {
        let mut state = self.state.lock();
        for wait in state.waits.values_mut() {
            wait.senders.retain(|sender| !sender.is_closed());
        }
        state.waits.retain(|_, wait| !wait.senders.is_empty());
        state.waits.keys().copied().collect()
    }

    fn lives(&self, job: JobId) -> bool {
        self.state.lock().waits.get(&job.0).is_some_and(|wait| wait.lives)
    }

    /// Records whether jobs are live, as far as is known.
    fn note(&self, jobs: impl Iterator<Item = (i64, bool)>) {
        let mut state = self.state.lock();
        for (job, lives) in jobs {
            if let Some(wait) = state.waits.get_mut(&job) {
                wait.lives = lives;
            }
        }
    }

    /// One query; returns how long the next can wait if nobody rings.
    async fn look(&self, link: &mut Link, jobs: &[i64]) -> Result<Duration, DatabaseError> {
        let found = link.call(&await_jobs(jobs)).await?;
        self.note(found.iter().map(|(job, at)| (*job, *at != Awaited::Gone)));
        let gone: Vec<i64> =
            found.iter().filter(|(_, at)| *at == Awaited::Gone).map(|(job, _)| *job).collect();
        if !gone.is_empty() {
            let ends = link.call(&ends_of(&gone)).await?;
            let mut ends: BTreeMap<i64, End> =
                ends.into_iter().map(|row| (row.job, End::of(row))).collect();
            for job in gone {
                let end = ends.remove(&job).unwrap_or(End::NothingKept);
                let wait = self.state.lock().waits.remove(&job);
                for sender in wait.into_iter().flat_map(|wait| wait.senders) {
                    let _nobody_waits = sender.send(end.clone());
                }
            }
        }
        let held = found.iter().any(|(_, at)| *at == Awaited::Held);
        Ok(if held { HELD } else { POLL })
    }

    /// Rings at each notification.
    async fn listen(&self) {
        let mut notifications = Notifications::new(self.source.clone(), PATIENCE).of("jobkit_end");
        loop {
            match notifications.wait(SILENCE).await {
                Ok(News::None) => {}
                Ok(_) => self.ring.notify_one(),
                Err(error) => {
                    tracing::debug!(%error, "jobkit: not listening for the ends of jobs");
                    sleep(POLL).await;
                }
            }
        }
    }

    /// Queries until nobody waits.
    async fn tend(&self) {
        let deadlines = Deadlines { call: PATIENCE, lock: PATIENCE };
        let mut link = Link::new("wait", self.source.clone(), deadlines).of_operator();
        loop {
            let jobs = self.wanted();
            if jobs.is_empty() {
                break;
            }
            let looked = self.look(&mut link, &jobs).await;
            if looked.is_err() {
                self.note(jobs.into_iter().map(|job| (job, false)));
            }
            let rest = looked.unwrap_or_else(|error| {
                tracing::debug!(%error, "jobkit: could not query the ends of jobs");
                POLL
            });
            // A wait that is given up is noticed by the next look.
            let _nobody_rang = timeout(rest, self.ring.notified()).await;
        }
        link.close().await;
    }
}

/// The task that serves a hub. When it ends, with the last wait or with its runtime, those who wait
/// notice and start another one.
struct Tended(Arc<Hub>);

impl Tended {
    async fn run(self) {
        tokio::select! {
            () = self.0.tend() => {}
            () = self.0.listen() => {}
        }
    }
}

impl Drop for Tended {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.tended = false;
        state.waits.clear();
    }
}
