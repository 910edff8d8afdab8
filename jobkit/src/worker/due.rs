use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::lock::Lock;

/// The promoter's alarm clock, which makes it look for due jobs sooner. Like all wake-ups, it is
/// only a hint.
#[derive(Debug, Default)]
pub(crate) struct Due {
    at: Lock<Option<Instant>>,
    changed: Notify,
}

impl Due {
    /// A job will be due this long from now.
    pub(crate) fn after(&self, delay: Duration) {
        let Some(due) = Instant::now().checked_add(delay) else { return };
        let mut at = self.at.lock();
        if at.is_none_or(|at| due < at) {
            *at = Some(due);
            self.changed.notify_one();
        }
    }

    /// A look begins, which finds everything announced before.
    pub(crate) fn looks(&self) {
        *self.at.lock() = None;
    }

    /// Completes after this rest, or sooner if a job is due.
    pub(crate) async fn rest(&self, rest: Duration) {
        let end = Instant::now() + rest;
        loop {
            let at = self.at.lock().map_or(end, |at| at.min(end));
            tokio::select! {
                () = sleep_until(at) => return,
                () = self.changed.notified() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn a_rest_ends_when_the_first_job_is_due() {
        let (due, began) = (Due::default(), Instant::now());
        due.after(LONG * 2);
        let told = async {
            tokio::task::yield_now().await;
            due.after(SHORT * 2);
            due.after(SHORT);
            due.after(LONG);
        };
        tokio::join!(due.rest(LONG), told);
        assert!((SHORT..LONG).contains(&began.elapsed()));
    }

    #[tokio::test]
    async fn what_was_told_before_a_look_ends_no_rest() {
        let (due, began) = (Due::default(), Instant::now());
        due.after(Duration::ZERO);
        due.looks();
        due.rest(SHORT).await;
        assert!(began.elapsed() >= SHORT);
    }
}
