//! jobkit, its peers and raw SQL in turn: `scripts/bench`.
//!
//! Every contestant's program is told the same by the same protocol, on a fresh database of the
//! same server; rounds are interleaved. See `bench/README.md`.

mod contestant;
mod crew;
mod drain;
mod enqueue;
mod latency;
mod own;
mod plot;
mod ratios;
mod record;
mod report;
mod slots;
mod workload;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use sqlx::{Connection, PgConnection};

use self::contestant::Contestant;
use self::crew::{Crew, Order};
use self::drain::Drain;
use self::enqueue::Enqueue;
use self::record::{Figures, Record, Records};
use self::workload::Workload;
use crate::server::Server;

/// Measures jobkit beside its peers and raw SQL, in turn.
#[derive(Debug, Parser)]
#[command(name = "scripts/bench", max_term_width = 100)]
pub(crate) struct Options {
    /// Runs everything small and once, the peers only five workloads, to see that it works: the
    /// figures mean nothing
    #[arg(long)]
    quick: bool,
    /// How often everything is measured; 5 times, or once with --quick
    #[arg(long, value_name = "NUMBER")]
    rounds: Option<usize>,
    /// Measures only these workloads
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Measures only these contestants
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    contestants: Vec<String>,
    /// Fails when a ratio is below the one in bench/ratios.json; without --quick always so
    #[arg(long)]
    check: bool,
    /// Writes the ratios of this run to bench/ratios.json, for later checks, instead of checking
    #[arg(long)]
    store: bool,
    /// Where the results go; by default bench/results and the time, or target/bench with --quick
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,
}

/// How much of everything.
struct Scale {
    /// Whether the peers take part in every workload, rather than in a few.
    every: bool,
    jobs: usize,
    seconds: usize,
    latencies: usize,
    steady: usize,
    idle: usize,
    pinned: usize,
    backlog: usize,
    large: usize,
    hot: usize,
    keyed: usize,
    memory: usize,
    /// Jobs for each slot.
    brief: usize,
    offered: usize,
}

const FULL: Scale = Scale {
    every: true,
    jobs: 100_000,
    seconds: 4,
    latencies: 500,
    steady: 60,
    idle: 20,
    pinned: 200_000,
    backlog: 10_000_000,
    large: 5_000,
    hot: 60,
    keyed: 100_000,
    memory: 1_000_000,
    brief: 2_000,
    offered: 15,
};

const QUICK: Scale = Scale {
    every: false,
    jobs: 20_000,
    seconds: 1,
    latencies: 25,
    steady: 3,
    idle: 2,
    pinned: 10_000,
    backlog: 50_000,
    large: 500,
    hot: 20,
    keyed: 10_000,
    memory: 20_000,
    brief: 200,
    offered: 3,
};

/// Where it is measured.
pub(crate) struct Stage {
    server: Server,
    contestants: Vec<Contestant>,
    scale: Scale,
    log: PathBuf,
}

impl Stage {
    /// One that takes part.
    fn contestant(&self, name: &str) -> Result<&Contestant> {
        let found = self.contestants.iter().find(|contestant| contestant.name == name);
        found.with_context(|| format!("{name} does not take part"))
    }

    /// A fresh database with the tables of a contestant.
    async fn database(&self, contestant: &Contestant) -> Result<String> {
        let url = self.server.fresh().await?;
        let mut setup = contestant.command()?;
        setup.arg("setup").env("DATABASE_URL", &url).kill_on_drop(true);
        let output = setup.output().await?;
        ensure!(output.status.success(), "setup: {}", reason(&output.stderr));
        sqlx::raw_sql("checkpoint").execute(&self.server.admin).await?;
        Ok(url)
    }

    async fn crew(
        &self,
        contestant: &Contestant,
        url: &str,
        task: &[String],
        knobs: Vec<(&'static str, String)>,
        processes: usize,
    ) -> Result<Crew> {
        let order = Order { url, task: task.to_vec(), knobs, processes, log: &self.log };
        Crew::start(contestant, order).await
    }

    /// Lets the planner know what was loaded. No checkpoint: the ceiling has none there either, and
    /// the first change of a page after one is logged as a whole.
    async fn settle(&self, url: &str) -> Result<()> {
        let mut connection = PgConnection::connect(url).await?;
        sqlx::raw_sql("analyze").execute(&mut connection).await?;
        Ok(connection.close().await?)
    }

    async fn measure(&self, workload: Workload, contestant: &Contestant) -> Result<Measured> {
        let scale = &self.scale;
        let (all, one) = (Drain::of(scale.jobs), Enqueue::of);
        let large = Drain { large: true, ..Drain::of(scale.large) };
        let enqueue = async |how| enqueue::run(self, contestant, how, scale.seconds).await;
        let own = match workload {
            Workload::Drain => {
                let (loaded, drained) = drain::run(self, contestant, all).await?;
                let bulk = Workload::Bulk.has(contestant).then_some(loaded);
                return Ok(Measured { figures: drained, bulk });
            }
            Workload::Bulk => drain::run(self, contestant, all).await?.0,
            Workload::Fleet => {
                // As many for each as one process has alone: four starts take four times as long.
                let fleet = Drain { jobs: all.jobs * 4, processes: 4, ..all };
                drain::beside_one(self, contestant, fleet).await?
            }
            Workload::Queues => {
                drain::beside_one(self, contestant, Drain { queues: 16, ..all }).await?
            }
            Workload::Narrow(slots) => {
                let narrow = Drain { slots: Some(slots), ..all };
                drain::beside_one(self, contestant, narrow).await?
            }
            Workload::Slots(slots) => slots::brief(self, contestant, slots, scale.brief).await?,
            Workload::Offered => slots::offered(self, contestant, scale.offered).await?,
            Workload::Large => drain::run(self, contestant, large).await?.1,
            Workload::LargeBulk => drain::run(self, contestant, large).await?.0,
            Workload::LargeOne => enqueue(Enqueue { large: true, ..one(1, false) }).await?,
            Workload::EnqueueOne => enqueue(one(1, false)).await?,
            Workload::EnqueueMany => enqueue(one(16, false)).await?,
            Workload::ServedOne => enqueue(one(1, true)).await?,
            Workload::ServedMany => enqueue(one(16, true)).await?,
            Workload::Latency => {
                latency::run(self, contestant, scale.latencies, 20, Vec::new()).await?
            }
            Workload::Poll => latency::poll(self, contestant, scale.latencies).await?,
            Workload::Steady => latency::steady(self, contestant, scale.steady).await?,
            Workload::Idle => latency::idle(self, contestant, scale.idle).await?,
            Workload::Held => own::held(self).await?,
            Workload::Pinned => own::pinned(self, scale.pinned).await?,
            Workload::Backlog => own::backlog(self, scale.backlog).await?,
            Workload::Hot => own::hot(self, scale.hot).await?,
            Workload::Keyed => own::keys(self, scale.keyed).await?,
            Workload::Zipf => own::zipf(self, scale.keyed).await?,
            Workload::Log => own::log(self, scale.jobs).await?,
            Workload::Memory => own::memory(self, scale.memory).await?,
        };
        Ok(Measured { figures: own, bulk: None })
    }
}

/// The line in which a program says why it has failed.
fn reason(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    let telling = |line: &&str| line.to_lowercase().contains("error") || line.contains("panicked");
    said.lines().find(telling).or(said.lines().next()).unwrap_or("it says nothing").to_owned()
}

struct Measured {
    figures: Figures,
    /// A drain has loaded its backlog before.
    bulk: Option<Figures>,
}

/// Runs what the command line says.
pub(crate) async fn run(arguments: impl Iterator<Item = String>) -> Result<()> {
    let options = Options::parse_from(std::iter::once("scripts/bench".to_owned()).chain(arguments));
    options.check()?;
    let workloads = options.workloads()?;
    let server = Server::find().await?;
    let mut report = report::Report::begin(&options, &server).await?;
    let contestants = report.prepare(&options)?;
    report.may_store(&options)?;
    let scale = if options.quick { QUICK } else { FULL };
    let stage = Stage { server, contestants, scale, log: report.folder.join("stderr.log") };
    let rounds = options.rounds.unwrap_or(if options.quick { 1 } else { 5 });
    let mut records = Records::default();
    for round in 1..=rounds {
        for workload in &workloads {
            self::round(&stage, *workload, round, &mut records, &mut report).await?;
        }
        report.write(&records)?;
    }
    stage.server.drop_database().await?;
    println!("{}", report.markdown(&records));
    println!("Results: {}", report.folder.display());
    for contestant in [contestant::JOBKIT, contestant::CEILING] {
        let failures = records.failures(contestant);
        ensure!(failures.is_empty(), "{contestant} failed:\n{}", failures.join("\n"));
    }
    let ratios = ratios::of(&records, &stage.contestants);
    if options.store {
        return ratios::store(&ratios);
    }
    if options.check || !options.quick {
        ratios::check(&ratios)?;
    }
    Ok(())
}

/// One workload by all contestants, each round beginning with another one.
async fn round(
    stage: &Stage,
    workload: Workload,
    round: usize,
    records: &mut Records,
    report: &mut report::Report,
) -> Result<()> {
    let every = stage.scale.every || workload.is_essential();
    let takes = |contestant: &&Contestant| {
        workload.has(contestant) && (every || contestant.name == contestant::JOBKIT)
    };
    let mut takers: Vec<_> = stage.contestants.iter().filter(takes).collect();
    let first = (round - 1) % takers.len().max(1);
    takers.rotate_left(first);
    let name = workload.table().name;
    for contestant in takers {
        let measured = stage.measure(workload, contestant).await;
        let bulk = measured.as_ref().ok().and_then(|measured| measured.bulk.clone());
        let (figures, failed) = match measured {
            Ok(measured) => (measured.figures, None),
            Err(error) => (Figures::new(), Some(format!("{error:#}"))),
        };
        let contestant = contestant.name;
        let record = Record { workload: name, contestant, round, figures, failed };
        report.note(workload, &record)?;
        records.0.push(record);
        if let Some(figures) = bulk {
            let record = Record { workload: "bulk", contestant, round, figures, failed: None };
            report.note(Workload::Bulk, &record)?;
            records.0.push(record);
        }
    }
    Ok(())
}

impl Options {
    /// What is asked for; bulk loads come with the drains, unless they alone are.
    fn workloads(&self) -> Result<Vec<Workload>> {
        let known = |name: &String| {
            let found = workload::ALL.into_iter().find(|workload| workload.table().name == name);
            found.with_context(|| format!("there is no workload {name}"))
        };
        let wanted: Vec<Workload> = match &*self.only {
            [] => workload::ALL.to_vec(),
            names => names.iter().map(known).collect::<Result<_>>()?,
        };
        let drained = wanted.contains(&Workload::Drain);
        let asked = wanted.into_iter();
        Ok(asked.filter(|workload| !(drained && *workload == Workload::Bulk)).collect())
    }

    /// Refuses names that nobody has, and to keep ratios that mean nothing.
    fn check(&self) -> Result<()> {
        let all = self.contestants.is_empty();
        ensure!(all || !self.store, "--store is for runs with all contestants");
        ensure!(
            !(self.quick && self.store),
            "--store is not for --quick: its figures mean nothing"
        );
        for name in &self.contestants {
            let known = contestant::ALL.iter().any(|contestant| contestant.name == name);
            ensure!(known, "there is no contestant {name}");
        }
        Ok(())
    }

    /// Whether this contestant is asked for.
    fn wants(&self, contestant: &Contestant) -> bool {
        self.contestants.is_empty() || self.contestants.iter().any(|name| name == contestant.name)
    }
}
