use std::time::{Duration, Instant};

use fastrand::Rng;
use jobkit_tests::{Lab, Network, Proxy};

use crate::process::Process;
use crate::program::Program;

/// How many worker processes there are.
const SEATS: usize = 3;

/// Runs worker processes, and does them harm.
pub(crate) struct Nemesis<'a> {
    lab: &'a Lab,
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
    stalled: Option<Instant>,
}

/// What has been done.
#[derive(Debug, Default)]
pub(crate) struct Strikes {
    kills: u32,
    freezes: u32,
    stops: u32,
    stalls: u32,
    cuts: u32,
    terminations: u32,
}

impl<'a> Nemesis<'a> {
    pub(crate) async fn new(lab: &'a Lab, seed: u64) -> Self {
        let mut seats = Vec::new();
        for _ in 0..SEATS {
            let proxy = Proxy::new(lab.url()).await.unwrap();
            let url = proxy.url().to_owned();
            let program = Program { url, ..Program::quick(lab.url()) };
            let process = Process::start(&program).await;
            seats.push(Seat { process, program, proxy, frozen: None, stalled: None });
        }
        Self { lab, rng: Rng::with_seed(seed), seats, strikes: Strikes::default() }
    }

    /// Waits a while, then does something bad.
    pub(crate) async fn strike(&mut self) {
        let rest = Duration::from_millis(self.rng.u64(200..1500));
        tokio::time::sleep(rest).await;
        self.heal();
        // Long enough, at times, for a lease of 2 s to lapse.
        let until = Instant::now() + Duration::from_millis(self.rng.u64(500..6000));
        let seat = &mut self.seats[self.rng.usize(..SEATS)];
        let strikes = &mut self.strikes;
        match self.rng.u32(..12) {
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
            5..6 if seat.frozen.is_none() => {
                // It goes on stopping while its successor starts.
                let mut old = seat.replace();
                old.ask_to_stop();
                tokio::spawn(old.stop());
                strikes.stops += 1;
            }
            6..8 => {
                seat.proxy.set(Network::Stalls);
                seat.stalled = Some(until);
                strikes.stalls += 1;
            }
            8..10 if seat.stalled.is_none() => {
                seat.proxy.set(Network::Breaks);
                // Every connection must see it before it is over.
                tokio::time::sleep(Duration::from_millis(20)).await;
                seat.proxy.set(Network::Passes);
                strikes.cuts += 1;
            }
            _ => self.terminate().await,
        }
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
            seat.stalled = seat.stalled.map(|_| Instant::now());
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

    /// A process may also have ended by itself: some jobs do that to it, and it does when it cannot
    /// start.
    fn heal(&mut self) {
        let now = Instant::now();
        if self.frozen.take_if(|until| *until <= now).is_some() {
            self.process.thaw();
        }
        if self.stalled.take_if(|until| *until <= now).is_some() {
            self.proxy.set(Network::Passes);
        }
        if self.process.is_dead() {
            self.replace();
        }
    }
}
