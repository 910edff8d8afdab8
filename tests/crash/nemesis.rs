use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use jobkit_tests::{Lab, Network, Proxy};
use private_postgres::{Cluster, Mode};
use sqlx::AssertSqlSafe;

use crate::oracle::Folder;
use crate::process::Process;
use crate::program::Program;
use crate::stage::with;

/// How many worker processes there are.
const SEATS: usize = 3;
/// What a network does to a process for some time.
const NETWORKS: [Network; 4] =
    [Network::Stalls, Network::Refuses, Network::Deafens, Network::Forgets];
/// Tables that somebody locks against all who write.
const TABLES: [&str; 4] = ["workers", "claims", "jobs", "ready"];

/// Runs worker processes, and does them harm.
pub(crate) struct Nemesis<'a> {
    lab: &'a Lab,
    cluster: Arc<Cluster>,
    rng: Rng,
    seats: Vec<Seat>,
    strikes: Strikes,
}

/// A process, its own network, and how long they are spoilt.
struct Seat {
    process: Process,
    program: Program,
    proxy: Proxy,
    frozen: Option<Instant>,
    spoilt: Option<Instant>,
}

/// What has been done.
#[derive(Debug, Default)]
pub(crate) struct Strikes {
    kills: u32,
    freezes: u32,
    /// Processes that got next to no CPU for some time.
    famines: u32,
    stops: u32,
    /// Networks that did something bad for some time.
    spoilt: u32,
    cuts: u32,
    terminations: u32,
    locks: u32,
    /// Crashes of the server.
    crashes: u32,
}

impl<'a> Nemesis<'a> {
    pub(crate) async fn new(
        lab: &'a Lab,
        cluster: &Arc<Cluster>,
        diaries: &Folder,
        seed: u64,
    ) -> Self {
        let mut seats = Vec::new();
        for _ in 0..SEATS {
            let proxy = Proxy::new(lab.url()).await.unwrap();
            let (url, diary) = (proxy.url().to_owned(), Some(diaries.path().to_owned()));
            let program = Program { url, diary, ..Program::quick(lab.url()) };
            let process = Process::start(&program).await;
            seats.push(Seat { process, program, proxy, frozen: None, spoilt: None });
        }
        let (cluster, rng) = (Arc::clone(cluster), Rng::with_seed(seed));
        Self { lab, cluster, rng, seats, strikes: Strikes::default() }
    }

    /// Waits a while, then does something bad.
    pub(crate) async fn strike(&mut self) {
        let rest = Duration::from_millis(self.rng.u64(100..1200));
        tokio::time::sleep(rest).await;
        self.heal();
        match self.rng.u32(..16) {
            0..11 => self.strike_one().await,
            11..13 => self.terminate().await,
            13..15 => self.lock(),
            _ => self.crash().await,
        }
    }

    /// Does something bad to one of the processes.
    async fn strike_one(&mut self) {
        // Long enough, at times, for a lease of 2 s to lapse.
        let until = Instant::now() + Duration::from_millis(self.rng.u64(500..6000));
        let seat = &mut self.seats[self.rng.usize(..SEATS)];
        let strikes = &mut self.strikes;
        match self.rng.u32(..11) {
            0..3 => {
                seat.process.kill();
                seat.replace();
                strikes.kills += 1;
            }
            3..5 if seat.frozen.is_none() => {
                seat.process.freeze();
                seat.frozen = Some(until);
                strikes.freezes += 1;
            }
            5 if seat.frozen.is_none() => {
                seat.starve(&mut self.rng).await;
                strikes.famines += 1;
            }
            6 if seat.frozen.is_none() => {
                // It goes on stopping while its successor starts; a job may end it before.
                let mut old = seat.replace();
                old.ask_to_stop();
                tokio::spawn(async move { old.ended().await });
                strikes.stops += 1;
            }
            7..9 => {
                seat.proxy.set(NETWORKS[self.rng.usize(..NETWORKS.len())]);
                seat.spoilt = Some(until);
                strikes.spoilt += 1;
            }
            _ if seat.spoilt.is_none() => {
                seat.proxy.set(Network::Breaks);
                // Every connection must see it before it is over.
                tokio::time::sleep(Duration::from_millis(20)).await;
                seat.proxy.set(Network::Passes);
                strikes.cuts += 1;
            }
            _ => {}
        }
    }

    /// Locks a table against all who write, for some time; goes on meanwhile.
    fn lock(&mut self) {
        let (pool, table) = (self.lab.pool().clone(), TABLES[self.rng.usize(..TABLES.len())]);
        let seconds = self.rng.f64() * 3.0;
        let lock = format!(
            "set local lock_timeout = '2s'; lock table jobkit.{table} in share mode;
            select pg_sleep({seconds})"
        );
        // It may end with the server, or not get the lock.
        tokio::spawn(async move { sqlx::raw_sql(AssertSqlSafe(lock)).execute(&pool).await });
        self.strikes.locks += 1;
    }

    /// Crashes the server, and starts it again.
    async fn crash(&mut self) {
        with(&self.cluster, |cluster| {
            cluster.stop(Mode::Immediate)?;
            cluster.start()
        })
        .await;
        self.strikes.crashes += 1;
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

    /// Ends what has lasted long enough, and replaces whoever has died.
    pub(crate) fn heal(&mut self) {
        self.seats.iter_mut().for_each(Seat::heal);
    }

    /// Ends the rage: everybody runs again. Says what was done.
    pub(crate) fn relent(&mut self) -> Strikes {
        for seat in &mut self.seats {
            seat.frozen = seat.frozen.map(|_| Instant::now());
            seat.spoilt = seat.spoilt.map(|_| Instant::now());
        }
        self.heal();
        std::mem::take(&mut self.strikes)
    }

    /// Stops the processes in order.
    pub(crate) async fn leave(self) {
        for seat in self.seats {
            seat.process.stop().await;
        }
    }
}

impl Seat {
    /// Puts a new process in the place of this one.
    fn replace(&mut self) -> Process {
        self.frozen = None;
        std::mem::replace(&mut self.process, Process::launch(&self.program))
    }

    /// Lets the process run for a moment now and then only.
    async fn starve(&mut self, rng: &mut Rng) {
        for _ in 0..rng.u32(5..15) {
            if self.process.is_dead() {
                return;
            }
            self.process.freeze();
            tokio::time::sleep(Duration::from_millis(rng.u64(100..400))).await;
            self.process.thaw();
            tokio::time::sleep(Duration::from_millis(rng.u64(2..30))).await;
        }
    }

    /// A process may also have ended by itself: some jobs do that to it, and it does when it cannot
    /// start.
    fn heal(&mut self) {
        let now = Instant::now();
        if self.frozen.take_if(|until| *until <= now).is_some() {
            self.process.thaw();
        }
        if self.spoilt.take_if(|until| *until <= now).is_some() {
            self.proxy.set(Network::Passes);
        }
        if self.process.is_dead() {
            self.replace();
        }
    }
}
