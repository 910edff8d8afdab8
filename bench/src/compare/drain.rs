//! A backlog is enqueued in bulk, and worked off: no-op jobs, unless they take a while.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sqlx::{Connection, PgConnection};

use super::contestant::{CEILING, Contestant, JOBKIT, WIDE};
use super::record::Figures;
use super::slots::{knob, shares};
use super::{Stage, reason};
use crate::meter::{Meter, Reading, most_resident, postmaster};

/// After that a contestant has what it has.
const LIMIT: Duration = Duration::from_secs(60);

/// How a backlog is worked off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drain {
    pub(crate) jobs: usize,
    pub(crate) processes: usize,
    pub(crate) queues: usize,
    /// Whether a snapshot is held open meanwhile.
    pub(crate) pinned: bool,
    /// As many as every contestant has, rather than what it is best with.
    pub(crate) slots: Option<usize>,
    /// How long each job takes.
    pub(crate) work_ms: Option<usize>,
    /// Whether each has a payload of 50 KB.
    pub(crate) large: bool,
}

impl Drain {
    pub(crate) const fn of(jobs: usize) -> Self {
        Self {
            jobs,
            processes: 1,
            queues: 1,
            pinned: false,
            slots: None,
            work_ms: None,
            large: false,
        }
    }

    /// The knobs for it; between queues and processes, connections and handlers are shared out.
    fn knobs(self) -> Vec<(&'static str, String)> {
        let mut knobs = Vec::new();
        if self.queues > 1 {
            knobs.push(("QUEUES", self.queues.to_string()));
            for (knob, all) in [("CONCURRENCY", 2000), ("RV_WORKERS", 1000), ("AWA_WORKERS", 256)] {
                knobs.push((knob, (all / self.queues).to_string()));
            }
        }
        knobs.extend(self.slots.map(knob));
        knobs.extend(self.work_ms.map(|ms| ("WORK_MS", ms.to_string())));
        knobs.extend(self.large.then(large));
        if self.processes > 1 {
            knobs.push(("POOL", (60 / self.processes).to_string()));
        }
        knobs
    }
}

/// The knob for payloads of 50 KB.
pub(crate) fn large() -> (&'static str, String) {
    ("PAYLOAD_KB", "50".to_owned())
}

/// What the load and the drain gave, in a database of their own.
pub(crate) async fn run(
    stage: &Stage,
    contestant: &Contestant,
    drain: Drain,
) -> Result<(Figures, Figures)> {
    if contestant.is_raw() {
        return raw(stage, contestant, drain).await;
    }
    let url = stage.database(contestant).await?;
    let loaded = load(stage, contestant, &url, drain).await?;
    stage.settle(&url).await?;
    Ok((loaded, work(stage, contestant, &url, drain).await?))
}

/// Works a backlog off with several processes or queues, or fewer slots. jobkit just before also
/// with one of each and all its slots: the machine is faster in one minute than in another, and a
/// longer backlog costs more.
pub(crate) async fn beside_one(
    stage: &Stage,
    contestant: &Contestant,
    many: Drain,
) -> Result<Figures> {
    let one = match contestant.name {
        JOBKIT => Some(run(stage, contestant, Drain::of(many.jobs)).await?.1["jobs_per_s"]),
        _ => None,
    };
    let mut figures = run(stage, contestant, many).await?.1;
    if let Some(one) = one {
        figures.insert("one_per_s", one);
        figures.insert("to_one", figures["jobs_per_s"] / one);
    }
    Ok(figures)
}

/// Enqueues the backlog in statements of 1,000, or of 100 where they are large.
pub(crate) async fn load(
    stage: &Stage,
    contestant: &Contestant,
    url: &str,
    drain: Drain,
) -> Result<Figures> {
    let batch = if drain.large { 100 } else { 1000 };
    let task = ["bulk".to_owned(), drain.jobs.to_string(), batch.to_string()];
    let mut crew = stage.crew(contestant, url, &task, drain.knobs(), 1).await?;
    let meter = Meter::of(&stage.server.admin, crew.pids()).await?;
    crew.go().await?;
    let ends = crew.ends(LIMIT * 5).await?;
    let reading = meter.stop(&stage.server.admin, drain.jobs).await?;
    crew.leave().await?;
    let seconds = number(&ends[0], "secs")?;
    Ok(Figures::from([("jobs_per_s", drain.jobs as f64 / seconds)])
        .into_iter()
        .chain(costs(&reading))
        .collect())
}

/// Works the backlog off.
pub(crate) async fn work(
    stage: &Stage,
    contestant: &Contestant,
    url: &str,
    drain: Drain,
) -> Result<Figures> {
    let task = ["work".to_owned()];
    let mut crew = stage.crew(contestant, url, &task, drain.knobs(), drain.processes).await?;
    let pin = if drain.pinned { Some(pin(url).await?) } else { None };
    let pids = crew.pids();
    let meter = Meter::of(&stage.server.admin, pids.clone()).await?;
    crew.go().await?;
    let mut course = Course::of(drain.jobs as u64, pids);
    let done = crew.done(drain.jobs as u64, LIMIT, |done| course.pass(done)).await?;
    let reading = meter.stop(&stage.server.admin, usize::try_from(done)?.max(1)).await?;
    let ends = crew.dismiss().await?;
    if let Some(pin) = pin {
        pin.close().await?;
    }
    let mut figures = course.figures(&reading);
    if let Some(slots) = drain.slots {
        figures.extend(shares(slots, reading.jobs_per_second, &ends[0]));
    }
    if done < drain.jobs as u64 {
        figures.insert("undone", (drain.jobs as u64 - done) as f64);
    }
    Ok(figures)
}

/// How far it was when each quarter of the backlog was done, and how much memory that had taken.
struct Course {
    jobs: u64,
    pids: Vec<u32>,
    began: Instant,
    /// When the first jobs were done: until then it has started.
    start: Option<Mark>,
    quarters: Vec<(Mark, f64)>,
}

/// How many jobs were done, after how many seconds.
#[derive(Clone, Copy)]
struct Mark {
    done: u64,
    seconds: f64,
}

impl Mark {
    /// Jobs a second since an earlier one.
    fn speed_since(self, before: Self) -> f64 {
        (self.done - before.done) as f64 / (self.seconds - before.seconds)
    }
}

impl Course {
    fn of(jobs: u64, pids: Vec<u32>) -> Self {
        Self { jobs, pids, began: Instant::now(), start: None, quarters: Vec::new() }
    }

    fn pass(&mut self, done: u64) {
        let mark = Mark { done, seconds: self.began.elapsed().as_secs_f64() };
        if done > 0 {
            self.start.get_or_insert(mark);
        }
        while self.quarters.len() < 4 && done * 4 >= self.jobs * (self.quarters.len() as u64 + 1) {
            let most = self.pids.iter().copied().map(most_resident).fold(0.0, f64::max);
            self.quarters.push((mark, most));
        }
    }

    fn figures(&self, reading: &Reading) -> Figures {
        let mut figures = Figures::from([("jobs_per_s", reading.jobs_per_second)]);
        figures.extend(costs(reading));
        if let (Some(start), [(first, mb_first), _, (third, _), (last, mb)]) =
            (self.start, &self.quarters[..])
        {
            if first.done > start.done && last.done > third.done {
                let share = last.speed_since(*third) / first.speed_since(start);
                figures.insert("last_to_first", share);
            }
            figures.insert("mb_first", *mb_first);
            figures.insert("mb", *mb);
        }
        figures
    }
}

/// What each job has cost.
pub(crate) fn costs(reading: &Reading) -> Figures {
    Figures::from([
        ("server_us", reading.server_micros),
        ("client_us", reading.own_micros),
        ("wal_bytes", reading.wal_bytes),
        ("writes", reading.writes),
    ])
}

/// A transaction that sees the database as it is now, until it is closed.
pub(crate) async fn pin(url: &str) -> Result<PgConnection> {
    let mut pin = PgConnection::connect(url).await?;
    let begin = "begin isolation level repeatable read; select count(*) from pg_class";
    sqlx::raw_sql(begin).execute(&mut pin).await?;
    Ok(pin)
}

/// Raw SQL.
async fn raw(stage: &Stage, contestant: &Contestant, drain: Drain) -> Result<(Figures, Figures)> {
    let jobs = drain.jobs.to_string();
    let [claims, connections] = if contestant.name == WIDE { ["500", "2"] } else { ["100", "4"] };
    let task = ["drain", "batch_claim_hint", claims, connections, &jobs, "60", "0"];
    let line = limit(stage, &task, drain.large).await?;
    let loaded = Figures::from([
        ("jobs_per_s", number(&line, "enq_s")?),
        ("server_us", number(&line, "enq_us")?),
        ("wal_bytes", number(&line, "enq_wal_b")?),
    ]);
    let mut drained = raw_costs(&line)?;
    drained.insert("jobs_per_s", number(&line, "jobs_s")?);
    Ok((loaded, drained))
}

/// The costs in a line of `limit`.
pub(crate) fn raw_costs(line: &Value) -> Result<Figures> {
    Ok(Figures::from([
        ("server_us", number(line, "pg_us")?),
        ("client_us", number(line, "cl_us")?),
        ("wal_bytes", number(line, "wal_b")?),
    ]))
}

/// Runs the program with the raw SQL, in a database of its own; perhaps with large payloads, which
/// it then loads in statements of 100 as well.
pub(crate) async fn limit(stage: &Stage, arguments: &[&str], is_large: bool) -> Result<Value> {
    let ceiling = stage.contestant(CEILING)?;
    let url = stage.server.fresh().await?;
    let postmaster = postmaster(&stage.server.admin).await?;
    let mut command = ceiling.command()?;
    command.args(arguments).env("DATABASE_URL", url).env("PG_PID", postmaster.to_string());
    if is_large {
        command.envs([large(), ("LOAD", "100".to_owned())]);
    }
    let output = command.kill_on_drop(true).output().await?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{}", reason(&output.stderr));
    Ok(serde_json::from_str(text.lines().last().context("it says nothing")?)?)
}

pub(crate) fn number(value: &Value, name: &str) -> Result<f64> {
    value[name].as_f64().with_context(|| format!("it does not say {name}"))
}
