//! Everybody at once, over a few keys: nothing deadlocks, and nothing is left behind.

use std::time::{Duration, Instant};

use fastrand::Rng;
use jobkit_tests::{Lab, Session};
use tokio::task::JoinSet;

use super::calls::{
    Keyed, cancel_mark_all, cancel_take_all, claim, enqueue, enqueue_keyed, limit_group, limit_key,
    pause, promote, reap_claim, release_lost, reschedule, resume, settle_all, sweep,
    sweep_unserved,
};
use super::kit::{World, next_n};

in_a_lab![t76_nothing_deadlocks_in_a_crowd];

/// How long the crowd is at it.
const CROWD: Duration = Duration::from_secs(3);

const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// T76. Claims and outcomes, cancels, limits, pauses and sweeps, all over five keys. When all have
/// gone home and the rest is done, nothing is left.
pub(crate) async fn t76_nothing_deadlocks_in_a_crowd(lab: Lab) {
    let world = World::limited(lab, 2).await;
    let seed = fastrand::u64(..1 << 60);
    println!("seed {seed}");
    let until = Instant::now() + CROWD;
    let mut crowd = JoinSet::new();
    for worker in 1..=5 {
        world.register(worker).await;
        let rng = Rng::with_seed(seed + worker.unsigned_abs());
        crowd.spawn(work(world.lab.session("worker").await, worker, rng, until));
    }
    for n in 6..=7 {
        let rng = Rng::with_seed(seed + n);
        crowd.spawn(operate(world.lab.session("operator").await, rng, until));
    }
    let rng = Rng::with_seed(seed);
    crowd.spawn(produce(world.lab.session("producer").await, rng, until));
    let settled: usize = crowd.join_all().await.iter().sum();
    println!("{settled} outcomes");
    assert!(settled > 20, "there was a crowd: {settled}");
    world.lab.check_invariants().await;
    drain(&world).await;
}

async fn ask(session: &mut Session, call: &str) -> String {
    let answer = session.value::<Option<String>>(call).await;
    answer.unwrap_or_else(|error| panic!("{error}: {call}")).unwrap_or_default()
}

fn ids(list: &str) -> Vec<i64> {
    list.split_whitespace().map(|id| id.trim_end_matches('!').parse().unwrap()).collect()
}

/// Claims and settles; now and then it loses a claim, or dies and is reaped.
async fn work(mut session: Session, worker: i64, mut rng: Rng, until: Instant) -> usize {
    let mut settled = 0;
    while Instant::now() < until {
        let n = next_n();
        let mut jobs = ids(&ask(&mut session, &claim(worker, n, rng.i32(1..8))).await);
        if rng.u8(..10) == 0 {
            ask(&mut session, &release_lost(worker, n, &[])).await;
        } else if rng.u8(..10) == 0 {
            let gone = format!("delete from jobkit.workers where id = {worker} returning 'gone'");
            ask(&mut session, &gone).await;
            ask(&mut session, &reap_claim(worker, n)).await;
            let back = "'w', '{default}', '{act}', '1 ms', now() + interval '1 day'";
            let columns = "(id, name, queues, kinds, lease, lease_until)";
            let back = format!("insert into jobkit.workers {columns} values ({worker}, {back})");
            ask(&mut session, &format!("{back} returning 'back'")).await;
            ask(&mut session, &sweep()).await;
        }
        rng.shuffle(&mut jobs);
        while !jobs.is_empty() {
            let some = jobs.split_off(rng.usize(..jobs.len()));
            let outcomes = ["finish", "finish", "retry", "snooze", "bury", "release", "discard"];
            let some: Vec<_> = some.iter().map(|job| (*job, outcomes[rng.usize(..7)])).collect();
            ask(&mut session, &settle_all(worker, n, &some)).await;
            settled += some.len();
        }
    }
    settled
}

/// Cancels, puts off and forward, pauses, limits and sweeps.
async fn operate(mut session: Session, mut rng: Rng, until: Instant) -> usize {
    while Instant::now() < until {
        let some = "select string_agg(id::text, ' ') from (
            select id from jobkit.jobs order by random() limit 5) j";
        let some = ids(&ask(&mut session, some).await);
        let key = KEYS[rng.usize(..KEYS.len())];
        let limit = ["0", "1", "3", "null", "null"][rng.usize(..5)];
        let calls = match rng.u8(..10) {
            0 | 1 => vec![cancel_mark_all(&some), cancel_take_all(&some)],
            2 => vec![reschedule(&some, "'1 ms'")],
            3 => vec![reschedule(&some, "'0 s'")],
            4 => vec![pause("default"), resume("default"), sweep()],
            5 => vec![limit_group(["1", "2", "4", "null"][rng.usize(..4)]), sweep()],
            6 | 7 => vec![limit_key(key, limit)],
            8 => vec![sweep_unserved()],
            _ => vec![sweep()],
        };
        for call in calls {
            ask(&mut session, &call).await;
        }
    }
    0
}

/// Enqueues, with keys in any order, and promotes what is due.
async fn produce(mut session: Session, mut rng: Rng, until: Instant) -> usize {
    while Instant::now() < until {
        let some: Vec<Keyed> = (0..rng.usize(1..9))
            .map(|_| Keyed { priority: rng.i32(-1..=1), ..KEYS[rng.usize(..KEYS.len())].into() })
            .collect();
        // As many as it takes to keep the others busy.
        let few = "select case when count(*) < 200 then 'few' end from jobkit.jobs";
        if !ask(&mut session, few).await.is_empty() {
            ask(&mut session, &enqueue_keyed(&some)).await;
            ask(&mut session, &enqueue(2)).await;
        }
        ask(&mut session, &promote(100)).await;
    }
    0
}

/// Runs what is left to its end.
async fn drain(world: &World) {
    for key in KEYS {
        world.call(limit_key(key, "null")).await;
    }
    world.call(limit_group("100")).await;
    let deadline = Instant::now() + Duration::from_secs(30);
    while world.lab.count("jobkit.jobs").await > 0 {
        assert!(Instant::now() < deadline, "jobs are left");
        world.an_hour_later().await;
        world.call(promote(10_000)).await;
        world.call(sweep()).await;
        let n = next_n();
        let jobs = ids(&world.call(claim(1, n, 500)).await);
        if !jobs.is_empty() {
            let done: Vec<_> = jobs.iter().map(|job| (*job, "finish")).collect();
            world.call(settle_all(1, n, &done)).await;
        }
    }
    for table in ["permits", "blocked_executions", "ready", "claims", "scheduled", "semaphores"] {
        assert_eq!(world.lab.count(&format!("jobkit.{table}")).await, 0, "{table}");
    }
    world.lab.check_invariants().await;
}
