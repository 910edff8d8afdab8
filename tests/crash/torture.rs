//! Everything at once, by chance: jobs of every outcome, and a nemesis that kills, freezes, stops
//! and cuts. While it rages no invariant may break; when it ends everything must end soon.
//!
//! `JOBKIT_TORTURE_SECONDS` makes it longer, `JOBKIT_TORTURE_SEED` repeats what was chosen (the
//! choices, not the times of the operating system).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use jobkit::Enqueue;
use jobkit_tests::Lab;
use tokio::task::JoinSet;

use crate::jobs::{Act, Deed};
use crate::process::Process;
use crate::program::Program;
use crate::restart::missing;
use crate::stage::{heavy_turn, hurry, lab};

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
    let lab = lab().await;
    let enough = Arc::new(AtomicBool::new(false));
    let mut producers = JoinSet::new();
    for n in 0..2 {
        let rng = Rng::with_seed(seed.wrapping_add(n + 1));
        producers.spawn(produce(lab.pool().clone(), seed, rng, Arc::clone(&enough)));
    }
    let mut nemesis = Nemesis::new(&lab, seed).await;
    let began = Instant::now();
    while began.elapsed() < rage {
        nemesis.strike().await;
        lab.check_invariants().await;
    }
    enough.store(true, Ordering::Relaxed);
    let acknowledged: Vec<i64> = producers.join_all().await.concat();
    let deeds = nemesis.relent();

    let began = Instant::now();
    while lab.count("jobkit.jobs").await > 0 {
        assert!(began.elapsed() < LIVENESS, "jobs are left; seed {seed}");
        hurry(&lab).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        lab.check_invariants().await;
    }
    println!("{deeds:?}; all ended {:.1} s after the last", began.elapsed().as_secs_f64());
    for process in nemesis.processes {
        process.stop().await;
    }
    account(&lab, &acknowledged).await;
    println!("passed; seed {seed}");
}

/// Checks the books once everything has ended.
async fn account(lab: &Lab, acknowledged: &[i64]) {
    lab.check_invariants().await;
    assert_eq!(missing(lab, acknowledged).await, 0, "acknowledged jobs are missing");
    for table in ["claims", "ready", "scheduled", "attempts", "workers"] {
        assert_eq!(lab.count(&format!("jobkit.{table}")).await, 0, "{table} is not empty");
    }
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
        let deed = Deed { act: Act::Chance(seed) }.options().max_attempts(rng.u16(2..=5));
        let deeds = std::iter::repeat_n(deed, rng.usize(1..=5));
        // An error may be the nemesis's: the jobs are there or not.
        if let Ok(jobs) = jobkit::enqueue_all(deeds, &pool).await {
            acknowledged.extend(jobs.iter().map(|job| job.0));
        }
        tokio::time::sleep(Duration::from_millis(rng.u64(0..200))).await;
    }
    acknowledged
}

/// What it has done.
#[derive(Debug, Default)]
struct Strikes {
    kills: u32,
    freezes: u32,
    stops: u32,
    terminations: u32,
}

struct Nemesis<'a> {
    lab: &'a Lab,
    rng: Rng,
    program: Program,
    processes: Vec<Process>,
    /// Frozen processes, and when they thaw.
    frozen: Vec<(usize, Instant)>,
    strikes: Strikes,
}

impl<'a> Nemesis<'a> {
    async fn new(lab: &'a Lab, seed: u64) -> Self {
        let program = Program::quick(lab.url());
        let mut processes = Vec::new();
        for _ in 0..3 {
            processes.push(Process::start(&program).await);
        }
        let rng = Rng::with_seed(seed);
        Self { lab, rng, program, processes, frozen: Vec::new(), strikes: Strikes::default() }
    }

    /// Waits a while, then does something bad.
    async fn strike(&mut self) {
        let rest = Duration::from_millis(self.rng.u64(200..1500));
        tokio::time::sleep(rest).await;
        self.thaw(Instant::now());
        let at = self.rng.usize(..self.processes.len());
        let is_frozen = self.frozen.iter().any(|(frozen, _)| *frozen == at);
        match self.rng.u32(..10) {
            0..3 => {
                self.processes[at].kill();
                self.replace(at);
                self.strikes.kills += 1;
            }
            3..5 if !is_frozen => {
                self.processes[at].freeze();
                let time = Duration::from_millis(self.rng.u64(500..6000));
                self.frozen.push((at, Instant::now() + time));
                self.strikes.freezes += 1;
            }
            5..6 if !is_frozen => {
                // It goes on stopping while its successor starts.
                let mut old =
                    std::mem::replace(&mut self.processes[at], Process::launch(&self.program));
                old.ask_to_stop();
                tokio::spawn(old.stop());
                self.strikes.stops += 1;
            }
            _ => self.terminate().await,
        }
    }

    fn replace(&mut self, at: usize) {
        self.frozen.retain(|(frozen, _)| *frozen != at);
        self.processes[at] = Process::launch(&self.program);
    }

    /// Ends one database session of the workers.
    async fn terminate(&mut self) {
        let sessions: Vec<i32> = sqlx::query_scalar(
            "select pid from pg_stat_activity where application_name like 'jobkit %'
                and datname = current_database() order by pid",
        )
        .fetch_all(self.lab.pool())
        .await
        .unwrap();
        if !sessions.is_empty() {
            let pid = sessions[self.rng.usize(..sessions.len())];
            let _ended: bool = self.lab.value(&format!("select pg_terminate_backend({pid})")).await;
            self.strikes.terminations += 1;
        }
    }

    /// Thaws whoever has been frozen until now.
    fn thaw(&mut self, now: Instant) {
        for (at, _) in self.frozen.extract_if(.., |(_, until)| *until <= now) {
            self.processes[at].thaw();
        }
    }

    /// Ends the rage: everybody runs again.
    fn relent(&mut self) -> Strikes {
        for (at, _) in self.frozen.drain(..) {
            self.processes[at].thaw();
        }
        for at in 0..self.processes.len() {
            if self.processes[at].is_dead() {
                self.replace(at);
            }
        }
        std::mem::take(&mut self.strikes)
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
