//! From jobs that begin to one call for several of them.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot::{self, Receiver, Sender};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{Answers, ChunkJob, Member, copies};
use crate::context::Report;
use crate::lock::Lock;
use crate::panics::{guard, message};
use crate::stop::Stop;
use crate::{JobContext, JobError, Result};

/// Where a worker's jobs are gathered into chunks: a place for each type and queue.
#[derive(Default)]
pub(crate) struct Gatherers(Lock<HashMap<Place, Arc<dyn Any + Send + Sync>>>);

/// The type of a gatherer, and its queue.
type Place = (TypeId, Arc<str>);

impl Gatherers {
    pub(crate) fn of<J: ChunkJob<S>, S: Send + Sync + 'static>(
        &self,
        queue: &Arc<str>,
    ) -> Arc<Gatherer<J, S>> {
        let place = (TypeId::of::<Gatherer<J, S>>(), Arc::clone(queue));
        let mut gatherers = self.0.lock();
        let gatherer = gatherers.entry(place).or_insert_with(|| Arc::new(Gatherer::<J, S>::new()));
        Arc::clone(gatherer).downcast().expect("it is filed under its type")
    }
}

/// The call for which jobs gather.
pub(crate) struct Gatherer<J, S>(Lock<Option<Arc<Call<J, S>>>>);

impl<J: ChunkJob<S>, S: Send + Sync + 'static> Gatherer<J, S> {
    fn new() -> Self {
        Self(Lock::new(None))
    }

    /// Runs a job with others, as soon as there are enough or the first has waited long enough. The
    /// job is released if it is told to stop before that.
    pub(crate) async fn join(
        self: Arc<Self>,
        job: J,
        cx: JobContext<S>,
        max: usize,
        linger: Duration,
    ) -> Result {
        let attempt = Arc::clone(&cx.attempt);
        let mut seat = self.sit(job, cx, max, linger);
        tokio::select! {
            biased;
            answer = &mut seat.answer => return read(answer.ok()),
            _reason = attempt.stop.until_told() => {
                if seat.call.leaves_before(seat.number) {
                    return Err(JobError::release());
                }
            }
        }
        seat.outcome().await
    }

    fn sit(
        self: &Arc<Self>,
        job: J,
        cx: JobContext<S>,
        max: usize,
        linger: Duration,
    ) -> Seat<J, S> {
        if max <= 1 {
            let call = Arc::new(Call::default());
            let seat = call.sit(job, cx);
            tokio::spawn(call.run());
            return seat;
        }
        let mut gathering = self.0.lock();
        let call = Arc::clone(gathering.get_or_insert_with(|| {
            let call = Arc::default();
            tokio::spawn(Arc::clone(self).begin_after(linger, Arc::clone(&call)));
            call
        }));
        let seat = call.sit(job, cx);
        if call.gathered() >= max {
            *gathering = None;
            tokio::spawn(call.run());
        }
        seat
    }

    async fn begin_after(self: Arc<Self>, linger: Duration, call: Arc<Call<J, S>>) {
        sleep(linger).await;
        {
            let mut gathering = self.0.lock();
            match &*gathering {
                Some(next) if Arc::ptr_eq(next, &call) => *gathering = None,
                // It was full before, and has begun.
                _ => return,
            }
        }
        call.run().await;
    }
}

/// One call of a handler, and those that wait for its answers.
pub(super) struct Call<J, S> {
    seats: Lock<Seats<J, S>>,
    /// Cancelled when nobody waits any more.
    left: CancellationToken,
}

struct Seats<J, S> {
    /// Its members by their seats, until it begins.
    gathered: Vec<(usize, J, JobContext<S>)>,
    begun: bool,
    /// Tells each member its outcome; `None` once that is done.
    tell: Vec<Option<Sender<Ended>>>,
    /// The answer of the last member, which is told only once the call has ended.
    held: Option<Result>,
    /// How many wait.
    open: usize,
}

/// The outcome of a member, or the message of the handler's panic.
type Ended = Result<Result, String>;

impl<J, S> Default for Call<J, S> {
    fn default() -> Self {
        let seats = Lock::new(Seats {
            gathered: Vec::new(),
            begun: false,
            tell: Vec::new(),
            held: None,
            open: 0,
        });
        Self { seats, left: CancellationToken::new() }
    }
}

impl<J, S> Call<J, S> {
    /// Adds a member.
    pub(super) fn sit(self: &Arc<Self>, job: J, cx: JobContext<S>) -> Seat<J, S> {
        let (tell, answer) = oneshot::channel();
        let mut seats = self.seats.lock();
        let number = seats.tell.len();
        seats.tell.push(Some(tell));
        seats.gathered.push((number, job, cx));
        seats.open += 1;
        drop(seats);
        Seat { call: Arc::clone(self), number, answer }
    }

    /// Begins: from here on no member is added.
    fn begin(&self) -> Vec<(usize, J, JobContext<S>)> {
        let mut seats = self.seats.lock();
        seats.begun = true;
        std::mem::take(&mut seats.gathered)
    }

    fn gathered(&self) -> usize {
        self.seats.lock().gathered.len()
    }

    /// Removes a member if the call has not begun; false if it has.
    fn leaves_before(&self, number: usize) -> bool {
        let mut seats = self.seats.lock();
        let at = seats.gathered.iter().position(|(seat, ..)| *seat == number);
        let taken = at.map(|at| seats.gathered.swap_remove(at));
        drop(seats);
        // Outside the lock: dropping runs the user's code.
        taken.is_some()
    }

    /// A member no longer waits, answered or not.
    fn leave(&self, number: usize) {
        self.leaves_before(number);
        let mut seats = self.seats.lock();
        if seats.tell[number].take().is_some() {
            seats.open -= 1;
            // Before it begins, another member may still come.
            if seats.open == 0 && seats.begun {
                self.left.cancel();
            }
        }
    }

    /// Ends the call: what it returned is the outcome of the members without one.
    fn end(&self, mut outcome: impl FnMut() -> Ended) {
        let mut seats = self.seats.lock();
        seats.open = 0;
        let held = &mut seats.held.take();
        let waiting: Vec<_> = seats.tell.iter_mut().filter_map(Option::take).collect();
        drop(seats);
        for tell in waiting {
            let _gone = tell.send(held.take().map_or_else(&mut outcome, Ok));
        }
    }
}

impl<J: ChunkJob<S>, S: Send + Sync + 'static> Call<J, S> {
    /// Calls the handler, unless all members have left, and drops it when they do.
    pub(super) async fn run(self: Arc<Self>) {
        let gathered = self.begin();
        let Some((_, _, first)) = gathered.first() else { return };
        let span = tracing::info_span!(
            "jobkit.chunk",
            job.kind = first.kind(),
            queue = first.queue(),
            jobs = gathered.len()
        );
        for (_, _, cx) in &gathered {
            span.follows_from(cx.span());
        }
        Report::hide_together(gathered.iter().map(|(_, _, cx)| &cx.attempt.report));
        Stop::work_together(gathered.iter().map(|(_, _, cx)| &*cx.attempt.stop));
        let stop = Arc::clone(&first.attempt.stop);
        let member = |(seat, job, cx)| Member { job, cx, call: Arc::<Self>::clone(&self), seat };
        let chunk: Vec<_> = gathered.into_iter().map(member).collect();
        let run = at_work(&stop, guard(async { J::run(chunk).await }));
        let run = stop.timed(run).instrument(span);
        tokio::select! {
            biased;
            () = self.left.cancelled() => {}
            ended = run => match ended {
                Ok(outcome) => {
                    let mut copies = copies(outcome);
                    self.end(|| Ok(copies()));
                }
                Err(panic) => {
                    let text = message(&*panic);
                    self.end(|| Err(text.clone()));
                }
            }
        }
    }
}

impl<J: Send, S: Send + Sync> Answers for Call<J, S> {
    fn answer(&self, seat: usize, outcome: Result) {
        let mut seats = self.seats.lock();
        let Some(tell) = seats.tell[seat].take() else { return };
        if seats.open > 1 {
            seats.open -= 1;
            drop(seats);
            let _gone = tell.send(Ok(outcome));
            return;
        }
        // One member has to wait for the rest of the call, for the sake of its timeout and its
        // stop.
        seats.tell[seat] = Some(tell);
        seats.held.get_or_insert(outcome);
    }
}

/// Polls the call as work of its members: an outcome set while it holds its thread is recorded
/// afterwards.
async fn at_work<F: Future>(stop: &Stop, call: F) -> F::Output {
    let mut call = pin!(call);
    std::future::poll_fn(|cx| {
        let _until_the_next_await = stop.begin_work();
        call.as_mut().poll(cx)
    })
    .await
}

/// A member that waits for its outcome.
pub(super) struct Seat<J, S> {
    call: Arc<Call<J, S>>,
    number: usize,
    answer: Receiver<Ended>,
}

impl<J, S> Seat<J, S> {
    pub(super) async fn outcome(mut self) -> Result {
        read((&mut self.answer).await.ok())
    }
}

impl<J, S> Drop for Seat<J, S> {
    fn drop(&mut self) {
        self.call.leave(self.number);
    }
}

/// A panic of the handler is a panic of each member.
fn read(ended: Option<Ended>) -> Result {
    match ended {
        Some(Ok(outcome)) => outcome,
        Some(Err(text)) => resume_unwind(Box::new(text)),
        None => Err("the chunk was dropped".into()),
    }
}
