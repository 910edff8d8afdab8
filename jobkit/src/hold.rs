//! Handlers that hold their threads: they compute or block for a long time without an await.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, Instant};

use crate::meter;

/// From this time on a thread is held for long, whatever the kind's timeout.
const LONG: Duration = Duration::from_secs(2);

/// The origin of the times here: long ago, so that none is 0.
static BEGINNING: LazyLock<Instant> =
    LazyLock::new(|| Instant::now().checked_sub(2 * LONG).unwrap_or_else(Instant::now));

/// When a handler began to hold its thread.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    /// In microseconds, from 1; 0 while it awaits.
    since: AtomicU64,
    /// Its kind and timeout. Without a kind nothing is reported.
    kind: OnceLock<(&'static str, Option<Duration>)>,
}

impl Hold {
    /// Sets the kind and its timeout.
    pub(crate) fn is_of(&self, kind: &'static str, timeout: Option<Duration>) {
        let _known_already = self.kind.set((kind, timeout));
    }

    /// Polls the handler, and reports each poll that holds its thread for long.
    pub(crate) async fn timed<F: Future>(&self, handler: F, long: impl Fn(Held)) -> F::Output {
        let mut handler = pin!(handler);
        std::future::poll_fn(|cx| {
            let since = now();
            self.since.store(since, Ordering::Relaxed);
            let polled = handler.as_mut().poll(cx);
            self.since.store(0, Ordering::Relaxed);
            if let Some(held) = self.held(since) {
                meter::held(held.kind);
                long(held);
            }
            polled
        })
        .await
    }

    /// For how long the handler has held its thread by now, if that is long.
    pub(crate) fn is_long(&self) -> Option<Held> {
        let since = Some(self.since.load(Ordering::Relaxed)).filter(|since| *since > 0)?;
        self.held(since).filter(|held| held.held >= LONG)
    }

    /// For how long it has since then, if that is long or beyond its timeout.
    fn held(&self, since: u64) -> Option<Held> {
        let held = Duration::from_micros(now().saturating_sub(since));
        let &(kind, timeout) = self.kind.get()?;
        let least = timeout.map_or(LONG, |timeout| timeout.min(LONG));
        (held >= least).then_some(Held { kind, held, timeout })
    }
}

/// A thread that was or is held for long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) kind: &'static str,
    pub(crate) held: Duration,
    pub(crate) timeout: Option<Duration>,
}

impl Held {
    /// Says so in the log.
    pub(crate) fn warn(self) {
        let Self { kind, held, timeout } = self;
        tracing::warn!(
            job.kind = kind,
            ?held,
            timeout = timeout.map(tracing::field::debug),
            "jobkit: a handler held its thread without an await: meanwhile nothing can stop it, \
             not even its timeout, and other jobs wait; use `JobContext::blocking` for such work"
        );
    }
}

fn now() -> u64 {
    u64::try_from(BEGINNING.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn micros(time: Duration) -> u64 {
        u64::try_from(time.as_micros()).expect("it is short")
    }

    #[tokio::test]
    async fn a_poll_is_seen_from_elsewhere_while_it_lasts_and_only_then() {
        let hold = Hold::default();
        hold.is_of("k", Some(LONG));
        let seen = || thread::scope(|scope| scope.spawn(|| hold.is_long()).join().ok()?);
        let handler = async {
            // As if it had begun that long ago.
            hold.since.store(now().saturating_sub(micros(LONG)).max(1), Ordering::Relaxed);
            let during = seen();
            tokio::task::yield_now().await;
            (during, seen())
        };
        let polled = hold.timed(handler, |_| {});
        let (during, after_an_await) = polled.await;
        let during = during.expect("it holds its thread");
        assert_eq!((during.kind, during.timeout), ("k", Some(LONG)));
        assert!(after_an_await.is_none(), "{after_an_await:?}");
        assert!(seen().is_none(), "it has ended");
    }

    #[test]
    fn a_long_timeout_does_not_make_it_short() {
        let hold = Hold::default();
        let ago =
            |time: Duration| now().saturating_sub(u64::try_from(time.as_micros()).unwrap_or(0));
        assert!(hold.held(ago(LONG)).is_none(), "nobody knows whose it is");
        hold.is_of("k", Some(10 * LONG));
        assert!(hold.held(ago(LONG)).is_some() && hold.held(ago(LONG / 2)).is_none());
    }
}
