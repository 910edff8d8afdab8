//! Limits of concurrency keys hold for all workers together, and are made use of.
//!
//! `JOBKIT_LIMITS_JOBS` makes it longer.

use std::time::{Duration, Instant};

use jobkit_tests::Lab;

use crate::jobs::Act;
use crate::permits::{Watch, enqueue_keyed, none_left, uses};
use crate::process::Process;
use crate::program::Program;
use crate::stage::{PATIENCE, crashable, heavy_turn};

/// Limits, and how many keys have it.
const KEYS: [(u32, u32); 3] = [(1, 12), (3, 4), (10, 2)];
const JOBS: u32 = 6_000;

#[tokio::test]
async fn sixty_four_workers_run_as_many_of_a_key_as_its_limit_says() {
    let _turn = heavy_turn().await;
    // What matters here is not whether jobs survive the machine.
    let settings = &[("max_connections", "600"), ("fsync", "off")];
    let (_cluster, lab) = crashable(settings).await;
    let program =
        Program { workers: 16, concurrency: 4, listen: false, ..Program::with_defaults(lab.url()) };
    let mut processes: Vec<Process> = (0..4).map(|_| Process::launch(&program)).collect();
    lab.until_within(PATIENCE, "count(*) = 64 from jobkit.workers").await;
    let watch = Watch::new(&lab);
    let began = Instant::now();
    let jobs = load(&lab).await;
    let patience = 4 * PATIENCE * jobs.div_ceil(JOBS);
    lab.until_within(patience, "not exists (select from jobkit.jobs)").await;
    let took = began.elapsed().as_secs_f64();
    let (seen, share) = watch.end().await;
    println!("{jobs} done in {took:.1} s: {:.0} a second", f64::from(jobs) / took);
    for process in &mut processes {
        let counts = process.counts().await;
        assert_eq!((counts.lost, counts.reaped, counts.unanswered), (0, 0, 0));
    }
    for process in processes {
        process.stop().await;
    }

    let uses = uses(&lab).await;
    let ran: f64 = uses.iter().map(|group| group.ran).sum();
    println!(
        "handlers ran {ran:.0} s, permits were taken {:.0} s, {:.0} s were possible",
        seen.held,
        took * f64::from(permits())
    );
    assert!(share >= 0.9, "{share} of the permits were in use");
    for group in uses {
        let limit = i64::from(group.limit);
        assert_eq!((group.least, group.most), (limit, limit), "of each key as many as may");
    }
    let once = "jobkit.finished where outcome = 'finish' and attempt = 1 and errors is null";
    assert_eq!(lab.count(once).await, i64::from(jobs));
    assert_eq!(lab.count("effects where what = 'begin'").await, i64::from(jobs));
    none_left(&lab).await;
}

/// How many jobs may run at once.
fn permits() -> u32 {
    KEYS.iter().map(|(limit, keys)| limit * keys).sum()
}

/// Enqueues jobs for each key in proportion to its limit, so that all are busy until the end;
/// returns how many.
async fn load(lab: &Lab) -> u32 {
    let jobs = std::env::var("JOBKIT_LIMITS_JOBS").ok().and_then(|jobs| jobs.parse().ok());
    let rounds: u32 = jobs.unwrap_or(JOBS) / permits();
    for (limit, keys) in KEYS {
        let all = (0..rounds * limit).flat_map(|_| 0..keys);
        enqueue_keyed(lab, limit, all, Act::Sleep(Duration::from_millis(20))).await;
    }
    rounds * permits()
}
