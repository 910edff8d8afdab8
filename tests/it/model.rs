//! The design of concurrency keys, before any SQL: every state that three jobs and two workers can
//! get into keeps the invariants, and each design that was not taken breaks one.
//!
//! With `--nocapture` the tests tell how many states they met, and the shortest way to the failure
//! of each mistake.

mod code;
mod database;
mod grants;
mod search;

use std::time::Instant;

use jobkit_tests::model::{Invariant, Mistake, Model, Outcome, Role, Spec, State, Step};

use search::{Bounds, Search};

/// While attempts are not counted, a snooze is a retry.
const UNCOUNTED: &[Outcome] = &[Outcome::Finish, Outcome::Retry, Outcome::Release];

/// The second job comes first by priority.
const PRIORITIES: [i16; 3] = [1, 0, 1];

const ANY: u32 = !0;

/// All of a search that a test does not say otherwise: one queue, one kind, any worker for both.
struct Scenario {
    limit: u32,
    queues: Vec<u8>,
    kinds: Vec<u8>,
    /// The kinds that each worker knows.
    workers: Vec<u32>,
    /// Whether the workers are there from the start.
    started: bool,
    attempts: Option<u8>,
    burst: Option<u32>,
    kind_limit: Option<(u8, u32)>,
    outcomes: &'static [Outcome],
    bounds: Bounds,
}

impl Scenario {
    fn new(limit: u32) -> Self {
        Self {
            limit,
            queues: vec![0; 3],
            kinds: vec![0; 3],
            workers: vec![ANY; 2],
            started: true,
            attempts: None,
            burst: None,
            kind_limit: None,
            outcomes: &[Outcome::Finish, Outcome::Release],
            bounds: Bounds::default(),
        }
    }

    fn search(&self, mistake: Option<Mistake>) -> Search {
        let jobs = self.queues.iter().zip(&self.kinds).zip(PRIORITIES);
        let spec = |((&queue, &kind), priority)| Spec { priority, queue, kind };
        let model = Model {
            jobs: jobs.map(spec).collect(),
            roles: self.workers.iter().map(|&kinds| Role { queues: ANY, kinds }).collect(),
            limits: vec![0, 1, 2, 3],
            attempts: self.attempts,
            burst: self.burst,
            kind_limit: self.kind_limit,
            mistake,
        };
        let mut start = State::new(&model, self.limit);
        let started = if self.started { self.workers.len() } else { 0 };
        for role in 0..started {
            model.apply(&mut start, &Step::Start { role });
        }
        model.apply(&mut start, &Step::Sweep);
        Search { model, start, bounds: self.bounds, outcomes: self.outcomes }
    }
}

/// Searches with limits of 1 and 2.
///
/// All faults, changes and outcomes at once make millions of states. So each test takes a few of
/// them together, and only with two jobs almost all.
fn holds(scenario: impl Fn(Scenario) -> Scenario) {
    for limit in [1, 2] {
        let (search, began) = (scenario(Scenario::new(limit)).search(None), Instant::now());
        match search.run() {
            Ok(states) => println!("limit {limit}: {states} states in {:?}", began.elapsed()),
            Err(example) => panic!("{}", search.tell(&example)),
        }
    }
}

#[test]
fn two_crashes_and_their_zombies_break_nothing() {
    let bounds = Bounds { crashes: 2, starts: 1, ..Bounds::default() };
    let outcomes = &[Outcome::Finish, Outcome::Retry];
    holds(|scenario| Scenario { bounds, outcomes, ..scenario });
}

#[test]
fn attempts_that_run_out_amid_a_crash_break_nothing() {
    let bounds = Bounds { crashes: 1, ..Bounds::default() };
    let (attempts, outcomes) = (Some(2), &[Outcome::Finish, Outcome::Retry, Outcome::Snooze]);
    holds(|scenario| Scenario { bounds, attempts, outcomes, ..scenario });
}

#[test]
fn a_limit_that_changes_amid_a_crash_breaks_nothing() {
    let bounds = Bounds { crashes: 1, limits: 1, ..Bounds::default() };
    holds(|scenario| Scenario { bounds, ..scenario });
}

#[test]
fn a_pause_amid_a_crash_breaks_nothing() {
    let bounds = Bounds { crashes: 1, pauses: 1, ..Bounds::default() };
    holds(|scenario| Scenario { bounds, queues: vec![0, 1, 0], ..scenario });
}

#[test]
fn limits_pauses_and_cancels_break_nothing_together() {
    let bounds = Bounds { limits: 1, pauses: 1, cancels: 1, ..Bounds::default() };
    let (queues, outcomes) = (vec![0, 1, 0], UNCOUNTED);
    holds(|scenario| Scenario { bounds, queues: queues.clone(), outcomes, ..scenario });
}

#[test]
fn workers_of_different_kinds_come_and_go_and_break_nothing() {
    let bounds = Bounds { crashes: 1, stops: 1, starts: 2, ..Bounds::default() };
    let (kinds, workers) = (vec![0, 1, 0], vec![0b11, 0b01]);
    holds(|scenario| Scenario {
        bounds,
        kinds: kinds.clone(),
        workers: workers.clone(),
        started: false,
        ..scenario
    });
}

#[test]
fn two_jobs_survive_a_crash_a_limit_a_pause_and_a_cancel() {
    let bounds = Bounds { crashes: 1, limits: 1, pauses: 1, cancels: 1, ..Bounds::default() };
    holds(|scenario| Scenario {
        bounds,
        queues: vec![0, 1],
        kinds: vec![0, 1],
        workers: vec![0b11, 0b01],
        outcomes: UNCOUNTED,
        ..scenario
    });
}

#[test]
fn a_rate_holds_amid_crashes_and_cancels() {
    for burst in [1, 2] {
        let bounds = Bounds { crashes: 1, cancels: 1, ..Bounds::default() };
        holds(|scenario| Scenario { bounds, burst: Some(burst), ..scenario });
    }
}

#[test]
fn a_rate_holds_while_limits_and_queues_change() {
    let bounds = Bounds { limits: 1, pauses: 1, ..Bounds::default() };
    let (queues, burst) = (vec![0, 1, 0], Some(2));
    holds(|scenario| Scenario { bounds, burst, queues: queues.clone(), ..scenario });
}

#[test]
fn a_rate_holds_for_workers_that_come_and_go() {
    let bounds = Bounds { stops: 1, starts: 2, ..Bounds::default() };
    let (kinds, workers, burst) = (vec![0, 1, 0], vec![0b11, 0b01], Some(1));
    holds(|scenario| Scenario {
        bounds,
        burst,
        kinds: kinds.clone(),
        workers: workers.clone(),
        ..scenario
    });
}

#[test]
fn a_limit_of_a_kind_holds_amid_crashes_and_pauses() {
    for bounds in [
        Bounds { crashes: 1, cancels: 1, ..Bounds::default() },
        Bounds { pauses: 1, limits: 1, ..Bounds::default() },
    ] {
        let (kinds, kind_limit) = (vec![0, 0, 1], Some((0, 1)));
        holds(|scenario| Scenario { bounds, kind_limit, kinds: kinds.clone(), ..scenario });
    }
}

/// What a mistake breaks, and what has to happen for it.
fn failure(mistake: Mistake) -> (Invariant, Scenario) {
    let (one, two, three) = (Scenario::new(1), Scenario::new(2), Scenario::new(3));
    let none = Bounds::default();
    let crash = Bounds { crashes: 1, ..none };
    let cancel = Bounds { cancels: 1, ..none };
    let raise = Bounds { limits: 1, ..none };
    let (stop, pause) = (Bounds { stops: 1, ..none }, Bounds { pauses: 1, ..none });
    let (kinds, apart) = (vec![0, 1, 0], vec![0b01, 0b10]);
    match mistake {
        Mistake::WaitReadsEarly | Mistake::FreshKeyReadsEarly => (Invariant::WithinLimit, one),
        Mistake::SettleReadsEarly => (Invariant::NoneIdle, one),
        Mistake::SignalUnchecked | Mistake::CancelKeepsPermit => {
            (Invariant::Accounted, Scenario { bounds: cancel, ..one })
        }
        Mistake::SettleUnfenced => (Invariant::Fenced, Scenario { bounds: crash, ..one }),
        Mistake::FillOne => (Invariant::NoneIdle, Scenario { bounds: crash, ..two }),
        Mistake::FillNewestFirst => (Invariant::InOrder, one),
        Mistake::FillUnserved => {
            (Invariant::InOrder, Scenario { bounds: stop, kinds, workers: apart, ..one })
        }
        Mistake::RetryKeepsPermit => {
            (Invariant::Accounted, Scenario { outcomes: UNCOUNTED, ..one })
        }
        Mistake::ForgetTaken | Mistake::ParkHolders => (Invariant::Accounted, one),
        Mistake::ReapKeepsPermit => (Invariant::Accounted, Scenario { bounds: crash, ..one }),
        Mistake::ReapUnchecked => (Invariant::Fenced, one),
        Mistake::RaiseUnswept => (Invariant::NoneIdle, Scenario { bounds: raise, ..one }),
        Mistake::SlotsReadEarly | Mistake::BurstTwice | Mistake::ClaimUndated => {
            (Invariant::WithinRate, Scenario { burst: Some(1), ..three })
        }
        Mistake::ReservedUncounted | Mistake::DatedByGrant => {
            (Invariant::WithinRate, Scenario { burst: Some(1), ..three })
        }
        Mistake::CancelKeepsSlot => {
            (Invariant::Accounted, Scenario { bounds: cancel, burst: Some(1), ..three })
        }
        Mistake::ClaimForgetsLook => (Invariant::NoneIdle, Scenario { burst: Some(2), ..three }),
        Mistake::KindLimitReadsEarly => {
            (Invariant::WithinKindLimit, Scenario { kind_limit: Some((0, 1)), ..two })
        }
        Mistake::KindLimitForgetsDead => (
            Invariant::WithinKindLimit,
            Scenario { bounds: crash, kind_limit: Some((0, 1)), ..two },
        ),
        Mistake::PauseReadEarly => (Invariant::NonePaused, Scenario { bounds: pause, ..one }),
        Mistake::SweepOnlyDue | Mistake::SweepFillsOnly => {
            (Invariant::Ends, Scenario { bounds: stop, kinds, workers: apart, ..one })
        }
    }
}

#[test]
fn each_mistake_breaks_what_it_is_known_to_break() {
    for mistake in Mistake::ALL {
        let (invariant, scenario) = failure(mistake);
        let search = scenario.search(Some(mistake));
        let Err(example) = search.run() else { panic!("{mistake:?} breaks nothing") };
        let story = search.tell(&example);
        println!("{mistake:?} breaks {story}");
        assert_eq!(example.invariant, invariant, "{mistake:?} breaks {story}");
    }
}
