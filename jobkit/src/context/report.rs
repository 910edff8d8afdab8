use std::collections::VecDeque;
use std::fmt;
use std::mem::take;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Instant;

use serde::{Serialize, Serializer};

use super::Attempt;
use crate::limits::NOTE_BYTES;
use crate::lock::Lock;
use crate::redact::scrubbed;

/// How many lines of an attempt are kept: the last.
const LINES: usize = 50;

/// Is notified when an attempt begins to report something.
pub(crate) trait Listener: fmt::Debug + Send + Sync {
    fn begins(&self, attempt: Arc<Attempt>);
}

/// The report of an attempt. Times are sent as microseconds ago, so that only the server's clock is
/// stored.
#[derive(Debug, Serialize)]
pub(crate) struct Reported {
    pub(crate) job: i64,
    pub(crate) attempt: u32,
    #[serde(serialize_with = "ago")]
    pub(crate) began: Instant,
    pub(crate) done: Option<i64>,
    pub(crate) total: Option<i64>,
    pub(crate) note: Option<String>,
    #[serde(serialize_with = "ago_if_any")]
    pub(crate) at: Option<Instant>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) lines: Vec<Line>,
}

/// A line that an attempt logged.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Line {
    /// In microseconds since 1970, by the clock of the worker.
    pub(crate) at: i64,
    pub(crate) level: &'static str,
    pub(crate) target: String,
    pub(crate) text: String,
}

impl Reported {
    /// Its approximate size when sent.
    pub(crate) fn bytes(&self) -> usize {
        const REST: usize = 100;
        let lines = self.lines.iter().map(|line| REST + line.target.len() + line.text.len());
        REST + self.note.as_ref().map_or(0, String::len) + lines.sum::<usize>()
    }
}

fn ago<S: Serializer>(time: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.elapsed().as_micros()).unwrap_or(0))
}

#[expect(clippy::ref_option, reason = "serde calls it with a reference to the field")]
fn ago_if_any<S: Serializer>(time: &Option<Instant>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => ago(time, serializer),
        None => serializer.serialize_none(),
    }
}

/// The report of an attempt, and what is needed to write it.
#[derive(Debug)]
pub(crate) struct Report {
    /// Worker and number of the claim under which it runs, which may change to one of its own.
    claim: (i64, AtomicI64),
    /// The hidden values of its payload.
    hidden: Vec<String>,
    /// In a chunk: the hidden values of all its payloads.
    hidden_in_chunk: OnceLock<Arc<[String]>>,
    pub(crate) began: Instant,
    /// That of its worker; `None` in the user's own tests.
    listener: Option<Weak<dyn Listener>>,
    pub(crate) said: Lock<State>,
}

/// Whether an attempt has reported anything.
#[derive(Debug, Default)]
pub(crate) enum State {
    #[default]
    Silent,
    Said(Box<Said>),
    /// It has ended: later reports come from tasks that it left behind.
    Closed,
}

/// What was reported.
#[derive(Debug, Default)]
pub(crate) struct Said {
    progress: Option<Progress>,
    lines: VecDeque<Line>,
    /// Whether it has changed since it was last written.
    news: bool,
    pub(crate) written: bool,
    /// Whether its job has a checkpoint.
    pub(crate) checkpointed: bool,
    /// The checkpoint, in the user's own tests.
    pub(crate) checkpoint: Option<String>,
}

#[derive(Debug)]
struct Progress {
    done: u64,
    total: Option<u64>,
    note: String,
    at: Instant,
}

impl Report {
    /// For the user's own tests, without a listener.
    pub(crate) fn unheard() -> Self {
        Self {
            claim: (0, AtomicI64::new(0)),
            hidden: Vec::new(),
            hidden_in_chunk: OnceLock::new(),
            began: Instant::now(),
            listener: None,
            said: Lock::default(),
        }
    }

    /// For an attempt that begins now, under this claim.
    pub(crate) fn of(
        (worker, n): (i64, i64),
        began: Instant,
        hidden: Vec<String>,
        listener: Weak<dyn Listener>,
    ) -> Self {
        let claim = (worker, AtomicI64::new(n));
        Self { claim, hidden, began, listener: Some(listener), ..Self::unheard() }
    }

    /// Worker and number of the claim under which it runs.
    pub(crate) fn claim(&self) -> (i64, i64) {
        (self.claim.0, self.claim.1.load(Ordering::Acquire))
    }

    /// It runs under another claim of its worker.
    pub(crate) fn moved(&self, n: i64) {
        self.claim.1.store(n, Ordering::Release);
    }

    /// The values that must be hidden in texts of the attempt, the longest first.
    pub(crate) fn hidden(&self) -> &[String] {
        self.hidden_in_chunk.get().map_or(&self.hidden, |all| all)
    }

    /// For attempts run by one call, whose texts are recorded for each: each hides the values of
    /// all.
    pub(crate) fn hide_together<'a>(reports: impl Iterator<Item = &'a Self> + Clone) {
        let mut all: Vec<String> = reports.clone().flat_map(|it| it.hidden.clone()).collect();
        if all.is_empty() {
            return;
        }
        all.sort_by_key(|text| std::cmp::Reverse(text.len()));
        all.dedup();
        let all: Arc<[String]> = all.into();
        for report in reports {
            let _first = report.hidden_in_chunk.set(Arc::clone(&all));
        }
    }

    /// No new report is begun from here on. An existing one continues until its outcome is written.
    pub(crate) fn close(&self) {
        let mut state = self.said.lock();
        if matches!(*state, State::Silent) {
            *state = State::Closed;
        }
    }

    /// Takes the final report.
    pub(crate) fn take(&self) -> Box<Said> {
        match std::mem::replace(&mut *self.said.lock(), State::Closed) {
            State::Said(said) => said,
            State::Silent | State::Closed => Box::default(),
        }
    }

    /// What was reported since the last call.
    pub(crate) fn news(&self, attempt: &Attempt) -> Option<Reported> {
        let State::Said(said) = &mut *self.said.lock() else { return None };
        if !take(&mut said.news) {
            return None;
        }
        said.written = true;
        Some(said.row(attempt))
    }

    /// The last row could not be written.
    pub(crate) fn tell_again(&self) {
        if let State::Said(said) = &mut *self.said.lock() {
            said.news = true;
        }
    }

    /// Reports progress.
    pub(crate) fn progress(attempt: &Arc<Attempt>, done: u64, total: Option<u64>, note: &str) {
        attempt.say(|said| {
            said.news = true;
            let at = Instant::now();
            // Called often, mostly with the same note.
            match &mut said.progress {
                Some(progress) if progress.note == note => {
                    (progress.done, progress.total, progress.at) = (done, total, at);
                }
                progress => *progress = Some(Progress { done, total, note: note.to_owned(), at }),
            }
        });
    }

    /// A line that it logged.
    #[cfg_attr(
        not(any(feature = "logs", test)),
        expect(dead_code, reason = "the log is a feature")
    )]
    pub(crate) fn line(attempt: &Arc<Attempt>, line: Line) {
        attempt.say(|said| {
            said.news = true;
            if said.lines.len() == LINES {
                said.lines.pop_front();
            }
            said.lines.push_back(line);
        });
    }
}

impl Attempt {
    /// Reports something. The first report registers the attempt with the worker.
    pub(crate) fn say(self: &Arc<Self>, say: impl FnOnce(&mut Said)) {
        let mut state = self.report.said.lock();
        match &mut *state {
            State::Closed => {}
            State::Said(said) => say(said),
            State::Silent => {
                let mut said = Box::<Said>::default();
                say(&mut said);
                *state = State::Said(said);
                drop(state);
                if let Some(listener) = self.report.listener.as_ref().and_then(Weak::upgrade) {
                    listener.begins(Arc::clone(self));
                }
            }
        }
    }
}

impl Said {
    /// The last report, if it was not written.
    pub(crate) fn unwritten(&self, attempt: &Attempt) -> Option<Reported> {
        self.news.then(|| self.row(attempt))
    }

    fn row(&self, attempt: &Attempt) -> Reported {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let progress = self.progress.as_ref();
        Reported {
            job: attempt.id.0,
            attempt: attempt.facts.attempt,
            began: attempt.report.began,
            done: progress.map(|progress| whole(progress.done)),
            total: progress.and_then(|progress| progress.total).map(whole),
            note: progress
                .filter(|progress| !progress.note.is_empty())
                .map(|progress| shown(&progress.note, attempt.report.hidden(), NOTE_BYTES)),
            at: progress.map(|progress| progress.at),
            lines: self.lines.iter().cloned().collect(),
        }
    }
}

/// A text as it is stored: without hidden values, and of at most this length.
pub(crate) fn shown(text: &str, hidden: &[String], most: usize) -> String {
    let mut text = scrubbed(text, hidden).replace('\0', "\\0");
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
}
