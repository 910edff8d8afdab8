//! Worker processes are killed one after another, under a load of jobs with concurrency keys.
//!
//! `JOBKIT_KILLS` says how many, one a second.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use fastrand::Rng;
use jobkit_tests::Lab;
use serde_json::json;

use crate::jobs::Act;
use crate::permits::{Watch, enqueue_keyed, none_left, uses};
use crate::process::Process;
use crate::program::Program;
use crate::stage::{PATIENCE, heavy_turn, hurry, lab};

const KILLS: u64 = 20;
/// Limits, and how many keys have it.
const KEYS: [(u32, u32); 3] = [(1, 6), (2, 4), (3, 4)];

#[tokio::test]
async fn a_permit_of_a_killed_worker_is_neither_lost_nor_doubled() {
    let _turn = heavy_turn().await;
    let kills = std::env::var("JOBKIT_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    let lab = lab().await;
    let program = Program::quick(lab.url());
    let mut processes = Vec::new();
    for _ in 0..4 {
        processes.push(Process::start(&program).await);
    }
    let watch = Watch::new(&lab);
    let (mut rng, mut jobs) = (Rng::new(), 0);
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    seconds.tick().await;
    for n in 0..usize::try_from(kills).unwrap() {
        jobs += load(&lab, &mut rng).await;
        seconds.tick().await;
        processes[n % 4].kill();
        processes[n % 4] = Process::launch(&program);
    }
    let left = lab.count("jobkit.jobs").await;
    let ended = Instant::now();
    while lab.count("jobkit.jobs").await > 0 {
        assert!(ended.elapsed() < PATIENCE, "jobs are left");
        hurry(&lab).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let seconds = ended.elapsed().as_secs_f64();
    println!("{left} of {jobs} jobs were left at the last kill, and done {seconds:.1} s later");
    watch.end().await;
    let mut survivors = HashSet::new();
    for process in &mut processes {
        let counts = process.counts().await;
        // On a machine that is too busy for a short lease it may have had to begin anew.
        let began_as = &process.events("ready")[0]["workers"];
        assert!(counts.lost == 0 || *began_as != json!(counts.workers), "{counts:?}");
        survivors.extend(counts.workers);
    }
    for process in processes {
        process.stop().await;
    }
    charged(&lab, &survivors, kills).await;
    assert_eq!(lab.count("jobkit.finished where outcome = 'finish'").await, jobs);
    uses(&lab).await;
    none_left(&lab).await;
}

/// Enqueues about as much as can be done in a second while workers die; returns how many.
async fn load(lab: &Lab, rng: &mut Rng) -> i64 {
    let mut jobs = 0;
    for (limit, keys) in KEYS {
        let act = Act::Sleep(Duration::from_millis(rng.u64(200..300)));
        let all = (0..4 * limit).flat_map(|_| 0..keys);
        jobs += enqueue_keyed(lab, limit, all, act).await.len();
    }
    i64::try_from(jobs).unwrap()
}

/// Checks that attempts were charged for deaths only.
async fn charged(lab: &Lab, survivors: &HashSet<i64>, kills: u64) {
    let charges: Vec<(String, i64)> = sqlx::query_as(
        "select e->>'outcome', (e->>'worker_id')::bigint
        from jobkit.finished cross join jsonb_array_elements(errors) e",
    )
    .fetch_all(lab.pool())
    .await
    .unwrap();
    let dead: HashSet<i64> = charges.iter().map(|(_, worker)| *worker).collect();
    println!("{kills} kills: {} attempts of {} workers were charged", charges.len(), dead.len());
    assert!(charges.iter().all(|(outcome, _)| outcome == "crash"), "{charges:?}");
    assert!(dead.is_disjoint(survivors), "a worker that lives was charged with a death");
    assert!(!dead.is_empty(), "no kill met a job");
    let attempts: i64 = lab.value("select sum(attempt - 1)::bigint from jobkit.finished").await;
    assert_eq!(attempts, i64::try_from(charges.len()).unwrap());
    assert_eq!(lab.count("jobkit.dead_letters").await, 0);
}
