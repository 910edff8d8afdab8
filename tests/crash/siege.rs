//! Worker processes that are killed one after another, at moments of chance, beside one that lives
//! and takes back what they leave.

use std::time::Duration;

use fastrand::Rng;
use jobkit_tests::Lab;

use crate::process::Process;
use crate::program::Program;
use crate::stage::hurry;

/// How many there are to be killed.
const SEATS: usize = 4;
/// How many are, unless `JOBKIT_KILLS` says more.
const KILLS: u64 = 20;

pub(crate) struct Siege<'a> {
    lab: &'a Lab,
    program: Program,
    mortals: Vec<Process>,
    /// It serves a queue without jobs.
    witness: Process,
    rng: Rng,
}

impl<'a> Siege<'a> {
    pub(crate) async fn new(lab: &'a Lab) -> Self {
        let program = Program {
            reap_every: Some(Duration::from_millis(100)),
            concurrency: 4,
            ..Program::quick(lab.url())
        };
        let aside = Program { queues: vec!["aside".to_owned()], ..program.clone() };
        let witness = Process::start(&aside).await;
        let mut mortals = Vec::new();
        for _ in 0..SEATS {
            mortals.push(Process::start(&program).await);
        }
        // Before that nobody has the right to take back.
        let steady = "exists (select from jobkit.workers w
            where w.steady_since + w.lease < clock_timestamp() and 'aside' = any (w.queues))";
        lab.until(steady).await;
        Self { lab, program, mortals, witness, rng: Rng::new() }
    }

    /// How many are to be killed.
    pub(crate) fn kills() -> u64 {
        std::env::var("JOBKIT_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS)
    }

    /// Kills one after a moment, and puts another in its place.
    pub(crate) async fn strike(&mut self) {
        tokio::time::sleep(Duration::from_millis(self.rng.u64(..300))).await;
        let seat = self.rng.usize(..SEATS);
        self.mortals[seat].kill();
        let dead = std::mem::replace(&mut self.mortals[seat], Process::launch(&self.program));
        // Its lease would end within seconds by itself.
        let pid = dead.pid();
        let lapse = "update jobkit.workers set lease = '1 ms', lease_until = now() - interval '1 s'
            where split_part(name, ':', -1)";
        self.lab.run(&format!("{lapse} = '{pid}'")).await;
        self.forget_crashes().await;
    }

    /// A job that has crashed twice in a row would run alone, and after a wait.
    async fn forget_crashes(&self) {
        self.lab
            .run(
                "update jobkit.jobs set crashes = 0 where id in (
                    select id from jobkit.jobs where crashes > 1 for update skip locked)",
            )
            .await;
        hurry(self.lab).await;
    }

    /// Waits until no job is left, and leaves.
    pub(crate) async fn end(self, patience: Duration) {
        let began = std::time::Instant::now();
        while self.lab.count("jobkit.jobs").await + self.lab.count("jobkit.claims").await > 0 {
            assert!(began.elapsed() < patience, "jobs are left");
            self.forget_crashes().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        println!("all ended {:.1} s after the last kill", began.elapsed().as_secs_f64());
        self.leave().await;
    }

    /// Stops everybody in order.
    pub(crate) async fn leave(self) {
        for process in self.mortals.into_iter().chain([self.witness]) {
            process.stop().await;
        }
    }
}
