use std::time::{Duration, Instant};

use tokio::sync::{Mutex, MutexGuard};

use super::idle::Open;

/// A connection, and whose turn it is to use it.
///
/// First come, first served, but only one patient caller queues at a time. So an impatient caller
/// waits for at most one call of a patient one, and nobody waits for ever.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    patient: Mutex<()>,
    connection: Mutex<Option<Open>>,
}

/// The right to use it, until it is dropped.
pub(super) struct Turn<'a> {
    pub(super) connection: MutexGuard<'a, Option<Open>>,
    _patient: Option<MutexGuard<'a, ()>>,
}

impl Turns {
    /// Waits for a turn.
    pub(super) async fn take(&self, patient: bool) -> Turn<'_> {
        let patient = if patient { Some(self.patient.lock().await) } else { None };
        Turn { connection: self.connection.lock().await, _patient: patient }
    }

    /// The connection, if there is one and nobody is using it now.
    pub(super) fn unused(&self) -> Option<MutexGuard<'_, Option<Open>>> {
        self.connection.try_lock().ok()
    }

    pub(super) fn into_connection(self) -> Option<Open> {
        self.connection.into_inner()
    }
}

/// How long a patient caller may wait for a lock while all others wait for the connection: most
/// calls not for long, and occasionally one as long as on its own connection. So a lock that is
/// rarely free (a day of history that somebody always reads) delays its duty but not for ever, and
/// the others miss the connection for a twentieth of the time.
#[derive(Debug)]
pub(super) struct Patience {
    lock: Duration,
    /// When it was used up.
    used: Option<Instant>,
}

impl Patience {
    const REST: u32 = 20;

    pub(super) fn of(lock: Duration) -> Self {
        Self { lock, used: None }
    }

    /// Uses it up, if there is any.
    pub(super) fn take(&mut self) -> Option<Duration> {
        let rested = self.used.is_none_or(|used| used.elapsed() >= self.lock * Self::REST);
        rested.then(|| {
            self.used = Some(Instant::now());
            self.lock
        })
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Waker};

    use super::*;
    use crate::lock::Lock;

    fn waits(asking: &mut Pin<Box<impl Future>>) -> bool {
        asking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
    }

    /// In which order these have their turns, each whether it is patient, who ask one after another
    /// while somebody else has his.
    async fn order(busy: bool, asking: &[(&'static str, bool)]) -> Vec<&'static str> {
        let (turns, had) = (Turns::default(), Lock::<Vec<_>>::default());
        let busy = turns.take(busy).await;
        let ask = |&(name, patient): &(&'static str, bool)| {
            let (turns, had) = (&turns, &had);
            Box::pin(async move {
                let _turn = turns.take(patient).await;
                had.lock().push(name);
            })
        };
        let mut asking: Vec<_> = asking.iter().map(ask).collect();
        assert!(asking.iter_mut().all(waits), "somebody has a turn");
        drop(busy);
        while !asking.is_empty() {
            asking.retain_mut(waits);
        }
        std::mem::take(&mut had.lock())
    }

    #[tokio::test]
    async fn a_claim_goes_before_waiting_duties() {
        let asking = [("reap", true), ("sweep", true), ("claim", false), ("settle", false)];
        assert_eq!(order(true, &asking).await, ["claim", "settle", "reap", "sweep"]);
    }

    #[tokio::test]
    async fn claims_go_before_one_duty_no_more_than_once() {
        let asking = [("reap", true), ("sweep", true), ("claim", false), ("settle", false)];
        assert_eq!(order(false, &asking).await, ["reap", "claim", "settle", "sweep"]);
    }

    #[test]
    fn patience_comes_back_after_a_rest() {
        let lock = Duration::from_secs(4);
        let mut patience = Patience::of(lock);
        assert_eq!([patience.take(), patience.take()], [Some(lock), None]);
        patience.used = Instant::now().checked_sub(lock * Patience::REST);
        assert_eq!([patience.take(), patience.take()], [Some(lock), None]);
    }
}
