use std::time::{Duration, Instant};

use super::{Claimer, Next};
use crate::store::{Rise, Sleep};
use crate::worker::ticker::jitter;

/// An enqueue that did not see the hint has committed by then, or is found by polling. A hint that
/// is taken back has stood that long, too: each is a row, and dead rows may stay for long.
const RACE: Duration = Duration::from_millis(500);
/// How much longer than two polls a hint stands, and that of a worker that died.
const HINT: Duration = Duration::from_secs(6);
/// How long a worker rests between two looks while jobs come in a rush.
const BREATH: Duration = Duration::from_millis(2);

/// Enqueues notify this worker, which may be asleep.
pub(crate) struct Hint {
    worker: i64,
    /// Those that enqueues notify it of.
    queues: Vec<usize>,
    since: Instant,
    until: Instant,
}

impl Hint {
    /// Whether every enqueue knows of it.
    fn is_told(&self) -> bool {
        self.since.elapsed() > RACE
    }
}

/// What a claimer does when it has found all there was.
impl Claimer {
    /// How long it rests; `whole` when nothing was found that it did not get, `from_start` when
    /// it has looked at all there was of the queues it asked.
    pub(super) async fn nap(&mut self, whole: bool, from_start: bool) -> Next {
        let poll = self.settings.poll;
        if self.settings.listen {
            if self.pace.rush.is_on() {
                self.rise().await;
                return Next::Rest(BREATH.min(poll));
            }
            if self.hint().await {
                self.pace.naps = 0;
                // Whatever was enqueued before the hint could be read is found by looking once
                // more.
                return Next::Again;
            }
        }
        let ladder = [10, 50, 250, 250].map(Duration::from_millis);
        let told = whole && self.pace.hint.as_ref().is_some_and(Hint::is_told);
        let rung = if told { ladder.len() } else { self.pace.naps };
        let nap = ladder.get(rung).map_or(poll, |nap| (*nap).min(poll));
        self.pace.naps += 1;
        let nap = jitter(nap, 0.2);
        // A scan above the marks misses what is old; look from the start as soon as that is due.
        let start = self.pace.water.until_start(Instant::now());
        Next::Nap(if from_start { nap } else { nap.min(start) })
    }

    /// Tells enqueues that this worker is going to sleep, unless they know; true if it did.
    async fn hint(&mut self) -> bool {
        let (now, poll, worker) = (Instant::now(), self.settings.poll, self.ledger.worker());
        let mut queues = self.queues_with_room();
        let stands = |hint: &&Hint| hint.worker == worker && hint.until > now;
        let covers = |hint: &&Hint| queues.iter().all(|queue| hint.queues.contains(queue));
        let standing = self.pace.hint.as_ref().filter(stands);
        let known = standing.filter(covers).map(|hint| (hint.since, hint.until));
        if known.is_some_and(|(_, until)| until > now + poll.mul_f64(1.5)) {
            return false;
        }
        if known.is_none() {
            // One that is full now stays in it until a renewal: else busy queues would take turns.
            let others = standing.into_iter().flat_map(|hint| hint.queues.clone());
            let others: Vec<usize> = others.filter(|queue| !queues.contains(queue)).collect();
            queues.extend(others);
        }
        let names = queues.iter().map(|queue| &*self.slots.queues()[*queue].name).collect();
        // For some naps: each hint is a write.
        let length = poll * 2 + HINT;
        let sleep = Sleep { worker, queues: names, hint: length };
        match self.link.call(&sleep).await {
            Ok(()) => {
                let since = known.map_or_else(Instant::now, |(since, _)| since);
                self.pace.hint = Some(Hint { worker, queues, since, until: now + length });
                known.is_none()
            }
            Err(error) => {
                self.pace.hint = None;
                tracing::debug!(%error, "jobkit: no sleep hint; polling makes up for it");
                false
            }
        }
    }

    /// The queues it is to be told of: all but those whose slots were taken before it looked, and
    /// still are. A slot that becomes free ends its nap, and producers of a queue that is full need
    /// not wait for each other.
    fn queues_with_room(&self) -> Vec<usize> {
        let free = self.slots.free();
        let is_full = |queue: &usize| free[*queue] == 0 && self.pace.full.contains(queue);
        (0..free.len()).filter(|queue| !is_full(queue)).collect()
    }

    /// Tells enqueues that this worker is awake, if they think that it sleeps.
    pub(super) async fn rise(&mut self) {
        if let Some(hint) = self.pace.hint.take_if(|hint| hint.is_told())
            && let Err(error) = self.link.call(&Rise { worker: hint.worker }).await
        {
            tracing::debug!(%error, "jobkit: enqueues go on to notify this worker");
        }
    }
}
