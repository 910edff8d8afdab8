//! Everything at once, by chance: jobs of every outcome, and a nemesis that kills, freezes, starves
//! and stops processes, cuts them off, loses their answers, locks tables and crashes the server.
//! While it rages no invariant may break; when it ends everything must end soon. A third of the
//! jobs has a concurrency key, and never more of a key run than its limit says. No two runs of a
//! job overlap while both have their claims, by diaries outside the database ([`crate::oracle`]).
//!
//! `JOBKIT_TORTURE_SECONDS` makes it longer, `JOBKIT_TORTURE_SEED` repeats what was chosen (the
//! choices, not the times of the operating system).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use jobkit::{Enqueue, JobId};
use jobkit_tests::Lab;
use tokio::task::JoinSet;

use crate::jobs::{Act, Deed, OneAtOnce, ThreeAtOnce, TwoAtOnce};
use crate::nemesis::Nemesis;
use crate::oracle::{Folder, RECORD, no_valid_runs_overlapped};
use crate::permits::{Watch, check, none_left, uses};
use crate::restart::missing;
use crate::stage::{crashable, heavy_turn, hurry};

/// How soon everything must end once the nemesis has.
const LIVENESS: Duration = Duration::from_secs(60);

#[tokio::test]
async fn nothing_is_lost_whatever_happens_to_the_workers() {
    let _turn = heavy_turn().await;
    let seconds = number("JOBKIT_TORTURE_SECONDS");
    let default = if std::env::var_os("CI").is_some() { 30 } else { 60 };
    let rage = Duration::from_secs(seconds.unwrap_or(default));
    let seed = number("JOBKIT_TORTURE_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("JOBKIT_TORTURE_SEED={seed} JOBKIT_TORTURE_SECONDS={}", rage.as_secs());
    let (cluster, lab) = crashable(&[]).await;
    lab.run(RECORD).await;
    let diaries = Folder::new();
    let enough = Arc::new(AtomicBool::new(false));
    let mut producers = JoinSet::new();
    for n in 0..2 {
        let rng = Rng::with_seed(seed.wrapping_add(n + 1));
        producers.spawn(produce(lab.pool().clone(), seed, rng, Arc::clone(&enough)));
    }
    let mut nemesis = Nemesis::new(&lab, &cluster, &diaries, seed).await;
    let watch = Watch::new(&lab);
    let began = Instant::now();
    while began.elapsed() < rage {
        nemesis.strike().await;
        check(&lab).await;
    }
    enough.store(true, Ordering::Relaxed);
    let acknowledged: Vec<i64> = producers.join_all().await.concat();
    let strikes = nemesis.relent();

    let began = Instant::now();
    while lab.count("jobkit.jobs").await > 0 {
        assert!(began.elapsed() < LIVENESS, "jobs are left; seed {seed}");
        nemesis.heal();
        hurry(&lab).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        check(&lab).await;
    }
    println!("{strikes:?}; all ended {:.1} s after the last", began.elapsed().as_secs_f64());
    watch.end().await;
    nemesis.leave().await;
    no_valid_runs_overlapped(&lab, &diaries).await;
    uses(&lab).await;
    account(&lab, &acknowledged).await;
    println!("passed; seed {seed}");
}

/// Checks the books once everything has ended.
async fn account(lab: &Lab, acknowledged: &[i64]) {
    assert_eq!(missing(lab, acknowledged).await, 0, "acknowledged jobs are missing");
    for table in ["scheduled", "attempts", "workers"] {
        assert_eq!(lab.count(&format!("jobkit.{table}")).await, 0, "{table} is not empty");
    }
    none_left(lab).await;
    let beyond = "(select attempt, max_attempts from jobkit.finished
        union all select attempt, max_attempts from jobkit.dead_letters) e
        where attempt > max_attempts";
    assert_eq!(lab.count(beyond).await, 0, "attempts beyond the limit");
    // One outcome for each attempt: a failure for all but the last, and each number once.
    let twice = "(select job_id, errors, attempt - 1 as failed from jobkit.finished
        union all select job_id, errors, attempt from jobkit.dead_letters) e
        where coalesce(jsonb_array_length(errors), 0) <> failed
            or (select count(distinct a->'attempt') from jsonb_array_elements(errors) a) <> failed";
    assert_eq!(lab.count(twice).await, 0, "an attempt without an outcome, or with two");
    let finished = lab.count("jobkit.finished").await;
    let dead = lab.count("jobkit.dead_letters").await;
    let crashes = lab.count("jobkit.dead_letters where reason = 'crashed'").await;
    let begins = lab.count("effects where what = 'begin'").await;
    println!(
        "{} jobs acknowledged; {finished} finished, {dead} dead ({crashes} crashed), {begins} runs",
        acknowledged.len()
    );
}

/// Enqueues a few jobs at a time; returns those that were acknowledged.
async fn produce(pool: sqlx::PgPool, seed: u64, mut rng: Rng, enough: Arc<AtomicBool>) -> Vec<i64> {
    let mut acknowledged = Vec::new();
    while !enough.load(Ordering::Relaxed) {
        let (act, key) = (Act::Chance(seed), rng.u32(..8));
        let jobs = match rng.u32(..9) {
            0 => some(OneAtOnce { key, act }, &pool, &mut rng).await,
            1 => some(TwoAtOnce { key, act }, &pool, &mut rng).await,
            2 => some(ThreeAtOnce { key, act }, &pool, &mut rng).await,
            _ => some(Deed { act }, &pool, &mut rng).await,
        };
        acknowledged.extend(jobs.iter().map(|job| job.0));
        tokio::time::sleep(Duration::from_millis(rng.u64(0..200))).await;
    }
    acknowledged
}

/// Enqueues some of the same. An error may be the nemesis's: the jobs are there or not.
async fn some<J: Enqueue + Clone>(job: J, pool: &sqlx::PgPool, rng: &mut Rng) -> Vec<JobId> {
    let attempts = rng.u16(2..=5);
    let jobs = std::iter::repeat_n(job, rng.usize(1..=5));
    let jobs = jobs.map(|job| job.options().max_attempts(attempts));
    jobkit::enqueue_all(jobs, pool).await.unwrap_or_default()
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
