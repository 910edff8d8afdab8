//! Everybody replays, purges and discards at once: one job for each time a dead letter was open,
//! and nothing deadlocks.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use fastrand::Rng;
use jobkit_tests::{Lab, Session};
use tokio::task::JoinSet;

use super::calls::{
    Lettered, claim, discard, discard_page, enqueue_lettered, replay, replay_page, settle,
    settle_all,
};
use super::dead_letters::{dead, expect_letter};
use super::kit::{World, next_n};

in_a_lab![
    four_replayers_make_one_job_a_thousand_times,
    nothing_deadlocks_where_all_replay_and_remove,
];

const ROUNDS: i64 = 1_000;

/// How long the crowd is at it.
const CROWD: Duration = Duration::from_secs(4);

const KEYS: [&str; 6] = ["a", "b", "c", "d", "e", ""];

async fn ask(session: &mut Session, call: &str) -> String {
    let answer = session.value::<Option<String>>(call).await;
    answer.unwrap_or_else(|error| panic!("{error}: {call}")).unwrap_or_default()
}

fn ids(list: &str) -> Vec<i64> {
    list.split_whitespace().map(|id| id.parse().unwrap()).collect()
}

/// The job fails each time, so that each round has the next generation.
pub(crate) async fn four_replayers_make_one_job_a_thousand_times(lab: Lab) {
    let world = World::new(lab).await;
    let (letter, mut last) = dead(&world, "k").await;
    let lab = &world.lab;
    let mut operators = [lab.session("a").await, lab.session("b").await];
    let mut others = [lab.session("c").await, lab.session("d").await];
    let (mut worker, mut first) = (lab.session("worker").await, [0; 4]);
    let (call, began) = (replay(letter), Instant::now());
    for round in 1..=ROUNDS {
        let ([a, b], [c, d]) = (&mut operators, &mut others);
        let answers = tokio::join!(ask(a, &call), ask(b, &call), ask(c, &call), ask(d, &call));
        let answers: [String; 4] = answers.into();
        let job = answers.iter().position(|answer| answer.starts_with("replay "));
        let job = job.unwrap_or_else(|| panic!("round {round}: {answers:?}"));
        first[job] += 1;
        let (_, new) = answers[job].split_once(' ').unwrap();
        let told = answers.iter().filter(|answer| **answer == format!("already {new}")).count();
        assert_eq!(told, 3, "round {round}: {answers:?}");
        let n = next_n();
        assert_eq!(ask(&mut worker, &claim(1, n, 10)).await, new, "the only job there is");
        last = new.parse().unwrap();
        assert_eq!(ask(&mut worker, &settle(1, n, last, "bury")).await, "");
        if round % 100 == 0 {
            let cycles = round + 1;
            let state = format!("open, {cycles} cycles, generation {cycles}, last job {last}");
            expect_letter(&world, letter, &state).await;
        }
    }
    println!("{:.1} s; first were {first:?}", began.elapsed().as_secs_f64());
    assert_eq!(world.lab.count("jobkit.audit where action = 'replay'").await, ROUNDS);
    let attempts = format!("jobkit.dead_letters where attempts = {ROUNDS} + 1");
    assert_eq!(world.lab.count(&attempts).await, 1, "last job {last}");
}

/// What the crowd has done.
#[derive(Debug, Default)]
struct Deeds {
    settled: usize,
    replayed: usize,
    purged: usize,
    discarded: usize,
}

/// Replays and purges of pages, discards of single ones, and workers whose jobs fail and succeed,
/// all over six keys, one of which is none.
pub(crate) async fn nothing_deadlocks_where_all_replay_and_remove(lab: Lab) {
    let world = World::new(lab).await;
    let seed = fastrand::u64(..1 << 60);
    println!("seed {seed}");
    let until = Instant::now() + CROWD;
    let mut crowd = JoinSet::new();
    for n in 0..9_i64 {
        let rng = Rng::with_seed(seed + n.unsigned_abs());
        let session = world.lab.session("crowd").await;
        match n {
            0..4 => crowd.spawn(replay_pages(session, rng, until)),
            4..6 => crowd.spawn(purge(session, rng, until)),
            6..8 => crowd.spawn(work(session, n - 5, rng, until)),
            _ => crowd.spawn(discard_some(session, until)),
        };
    }
    let mut all = Deeds::default();
    while let Some(deeds) = crowd.join_next().await {
        let deeds = deeds.unwrap();
        all.settled += deeds.settled;
        all.replayed += deeds.replayed;
        all.purged += deeds.purged;
        all.discarded += deeds.discarded;
    }
    println!("{all:?}");
    let least = all.replayed.min(all.purged).min(all.discarded);
    assert!(all.settled > 20 && least > 0, "there was a crowd");
    world.lab.check_invariants().await;
    drain(&world).await;
}

async fn replay_pages(mut session: Session, mut rng: Rng, until: Instant) -> Deeds {
    let mut deeds = Deeds::default();
    while Instant::now() < until {
        let answer = ask(&mut session, &replay_page(rng.i32(1..5))).await;
        deeds.replayed += first_number(&answer);
        // Something is to be left for the others.
        tokio::time::sleep(Duration::from_millis(rng.u64(1..30))).await;
    }
    deeds
}

async fn purge(mut session: Session, mut rng: Rng, until: Instant) -> Deeds {
    let mut deeds = Deeds::default();
    while Instant::now() < until {
        let state = ["open", "resolved"][rng.usize(..2)];
        deeds.purged += first_number(&ask(&mut session, &discard_page(state)).await);
        tokio::time::sleep(Duration::from_millis(rng.u64(1..30))).await;
    }
    deeds
}

async fn discard_some(mut session: Session, until: Instant) -> Deeds {
    let mut deeds = Deeds::default();
    let one = "select id::text from jobkit.dead_letters order by random() limit 1";
    while Instant::now() < until {
        let found = session.value::<String>(one).await;
        if let Ok(letter) = found {
            let answer = ask(&mut session, &discard(letter.parse().unwrap())).await;
            deeds.discarded += usize::from(answer == "discard");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    deeds
}

/// "2 replayed, 1 skipped".
fn first_number(answer: &str) -> usize {
    answer.split(' ').next().unwrap().parse().unwrap()
}

/// Enqueues while there is little to do, claims, and settles in batches, in any order.
async fn work(mut session: Session, worker: i64, mut rng: Rng, until: Instant) -> Deeds {
    let mut deeds = Deeds::default();
    while Instant::now() < until {
        let few = "select case when count(*) < 50 then 'few' end from jobkit.jobs";
        if !ask(&mut session, few).await.is_empty() {
            let some: Vec<Lettered> = (0..8).map(|_| KEYS[rng.usize(..6)].into()).collect();
            ask(&mut session, &enqueue_lettered(&some)).await;
        }
        let n = next_n();
        let mut jobs = ids(&ask(&mut session, &claim(worker, n, rng.i32(1..12))).await);
        rng.shuffle(&mut jobs);
        while !jobs.is_empty() {
            let some = jobs.split_off(rng.usize(..jobs.len()));
            let outcomes = ["bury", "bury", "bury", "finish", "finish", "discard", "release"];
            let some: Vec<_> = some.iter().map(|job| (*job, outcomes[rng.usize(..7)])).collect();
            assert_eq!(ask(&mut session, &settle_all(worker, n, &some)).await, "");
            deeds.settled += some.len();
        }
    }
    deeds
}

/// Runs what is left to its end: then nothing is being replayed.
async fn drain(world: &World) {
    let mut seen = HashSet::new();
    loop {
        let n = next_n();
        let jobs = ids(&world.call(claim(1, n, 500)).await);
        if jobs.is_empty() {
            break;
        }
        assert!(jobs.iter().all(|job| seen.insert(*job)), "claimed twice");
        let done: Vec<_> = jobs.iter().map(|job| (*job, "finish")).collect();
        assert_eq!(world.call(settle_all(1, n, &done)).await, "");
    }
    for table in ["jobs", "claims", "attempts", "ready", "scheduled"] {
        assert_eq!(world.lab.count(&format!("jobkit.{table}")).await, 0, "{table}");
    }
    assert_eq!(world.lab.count("jobkit.dead_letters where state = 'replaying'").await, 0);
    let twice = "(select from jobkit.dead_letters where key is not null
        group by kind, key having count(*) > 1) t";
    assert_eq!(world.lab.count(twice).await, 0);
    world.lab.check_invariants().await;
}
