//! Connections between two calls.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::lock::Lock;

/// How many connections are kept.
const MOST: usize = 4;

/// How long one is kept unused.
const IDLE: Duration = Duration::from_secs(60);

/// How long one is used in total: the server's settings may have changed since it was opened.
const AGE: Duration = Duration::from_secs(600);

/// How long a connection may take to show that it is alive.
const PATIENCE: Duration = Duration::from_secs(1);

/// An open connection.
#[derive(Debug)]
pub(super) struct Open<C = PgConnection> {
    pub(super) connection: C,
    pub(super) since: Instant,
    /// The number of the host it is to.
    pub(super) host: usize,
    /// Whether this binary is known to work with the schema there.
    pub(super) fits: bool,
    /// How long a worker's calls wait for a lock there.
    pub(super) lock: Duration,
}

/// Connections that are not in use, with everything that the server has cached for them.
///
/// Each belongs to one caller at a time. It comes back only if every call had a clear answer: a
/// caller that is dropped, fails or times out does not return it.
#[derive(Debug, Default)]
pub(crate) struct IdleConnections {
    stack: Lock<IdleStack<PgConnection>>,
}

impl IdleConnections {
    /// Takes one that is alive, if there is any.
    pub(super) async fn take(&self) -> Option<Open> {
        loop {
            let mut open = self.stack.lock().take(Instant::now())?;
            match timeout(PATIENCE, open.connection.ping()).await {
                Ok(Ok(())) => return Some(open),
                // The server went away, and with it the others.
                _ => self.forget(),
            }
        }
    }

    /// Puts one back.
    pub(super) fn put(self: &Arc<Self>, open: Open) {
        let mut stack = self.stack.lock();
        stack.put(open, Instant::now());
        // If its runtime has ended, so has the task.
        if stack.tidying.as_ref().is_none_or(JoinHandle::is_finished) {
            stack.tidying = Some(tokio::spawn(tidy(Arc::downgrade(self))));
        }
    }

    /// Drops unused connections.
    pub(super) fn forget(&self) {
        self.stack.lock().idle.clear();
    }
}

/// Closes connections that were unused for long; ends when none is left.
async fn tidy(connections: Weak<IdleConnections>) {
    let mut wait = IDLE;
    loop {
        sleep(wait).await;
        let Some(connections) = connections.upgrade() else { return };
        let (old, next) = {
            let mut stack = connections.stack.lock();
            let (old, next) = stack.tidy(Instant::now());
            if next.is_none() {
                stack.tidying = None;
            }
            (old, next)
        };
        drop(connections);
        for open in old {
            let _farewell = timeout(PATIENCE, open.connection.close()).await;
        }
        let Some(next) = next else { return };
        wait = next;
    }
}

/// What is kept, the longest unused first.
#[derive(Debug)]
struct IdleStack<C> {
    idle: Vec<Idle<C>>,
    tidying: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Idle<C> {
    open: Open<C>,
    since: Instant,
}

impl<C> Idle<C> {
    fn is_old(&self, now: Instant) -> bool {
        now.duration_since(self.since) >= IDLE || now.duration_since(self.open.since) >= AGE
    }
}

impl<C> Default for IdleStack<C> {
    fn default() -> Self {
        Self { idle: Vec::new(), tidying: None }
    }
}

impl<C> IdleStack<C> {
    /// The one that was used last.
    fn take(&mut self, now: Instant) -> Option<Open<C>> {
        self.idle.retain(|idle| !idle.is_old(now));
        self.idle.pop().map(|idle| idle.open)
    }

    fn put(&mut self, open: Open<C>, now: Instant) {
        self.idle.push(Idle { open, since: now });
        if self.idle.len() > MOST {
            self.idle.remove(0);
        }
    }

    /// Removes old connections, and returns when to look again, unless none is left.
    fn tidy(&mut self, now: Instant) -> (Vec<Open<C>>, Option<Duration>) {
        let (old, idle): (Vec<_>, _) =
            std::mem::take(&mut self.idle).into_iter().partition(|idle| idle.is_old(now));
        self.idle = idle;
        let next = self.idle.iter().map(|idle| idle.since + IDLE).min();
        (old.into_iter().map(|idle| idle.open).collect(), next.map(|next| next - now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(connection: u32, since: Instant) -> Open<u32> {
        Open { connection, since, host: 0, fits: true, lock: IDLE }
    }

    #[test]
    fn each_goes_to_one_caller() {
        let (mut stack, now) = (IdleStack::default(), Instant::now());
        stack.put(open(1, now), now);
        stack.put(open(2, now), now);
        let mut take = || stack.take(now).map(|open| open.connection);
        assert_eq!([take(), take(), take()], [Some(2), Some(1), None]);
    }

    #[test]
    fn a_few_are_kept_those_used_last() {
        let (mut stack, now) = (IdleStack::default(), Instant::now());
        for connection in 1..=9 {
            stack.put(open(connection, now), now);
        }
        let kept: Vec<_> = stack.idle.iter().map(|idle| idle.open.connection).collect();
        assert_eq!(kept, [6, 7, 8, 9]);
    }

    #[test]
    fn none_is_kept_unused_for_long() {
        let (mut stack, now) = (IdleStack::default(), Instant::now());
        stack.put(open(1, now), now);
        stack.put(open(2, now), now + IDLE / 2);
        let (old, next) = stack.tidy(now + IDLE);
        assert_eq!(old.iter().map(|open| open.connection).collect::<Vec<_>>(), [1]);
        assert_eq!(next, Some(IDLE / 2));
        let (old, next) = stack.tidy(now + 2 * IDLE);
        assert_eq!((old.len(), next), (1, None));
        stack.put(open(3, now), now);
        assert!(stack.take(now + IDLE).is_none(), "whoever tidies up may be late");
    }

    #[test]
    fn none_is_used_for_ever() {
        let (mut stack, now) = (IdleStack::default(), Instant::now());
        stack.put(open(1, now), now + AGE - IDLE / 2);
        assert!(stack.take(now + AGE).is_none());
    }
}
