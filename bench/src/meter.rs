//! What a drain costs: time, write-ahead log, CPU of the server and of this process.

use std::fmt;
use std::fs;
use std::time::Instant;

use anyhow::{Context, Result};
use sqlx::PgPool;

/// A measurement under way.
pub(crate) struct Meter {
    began: Instant,
    wal: i64,
    xids: i64,
    postmaster: u32,
    server_ticks: u64,
    /// The processes that work: this one, unless others are named.
    workers: Vec<u32>,
    worker_ticks: u64,
}

/// What it gave; all but the first two for each job.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    pub(crate) seconds: f64,
    pub(crate) jobs_per_second: f64,
    pub(crate) wal_bytes: f64,
    /// Transactions that wrote something.
    pub(crate) writes: f64,
    pub(crate) server_micros: f64,
    pub(crate) own_micros: f64,
}

impl Meter {
    pub(crate) async fn start(pool: &PgPool) -> Result<Self> {
        Self::of(pool, vec![std::process::id()]).await
    }

    /// Of these processes, and the server behind this pool.
    pub(crate) async fn of(pool: &PgPool, workers: Vec<u32>) -> Result<Self> {
        let postmaster = postmaster(pool).await?;
        let (wal, xids) = log(pool).await?;
        Ok(Self {
            wal,
            xids,
            server_ticks: server_ticks(postmaster),
            worker_ticks: workers.iter().copied().map(ticks).sum(),
            workers,
            postmaster,
            began: Instant::now(),
        })
    }

    pub(crate) async fn stop(self, pool: &PgPool, jobs: usize) -> Result<Reading> {
        let seconds = self.began.elapsed().as_secs_f64();
        let worker_ticks: u64 = self.workers.iter().copied().map(ticks).sum();
        let server_ticks = server_ticks(self.postmaster);
        let (wal, xids) = log(pool).await?;
        let jobs = jobs as f64;
        // A tick is 10 ms on every Linux in use.
        let micros = |ticks: u64| ticks as f64 * 10_000.0 / jobs;
        Ok(Reading {
            seconds,
            jobs_per_second: jobs / seconds,
            wal_bytes: (wal - self.wal) as f64 / jobs,
            writes: (xids - self.xids) as f64 / jobs,
            server_micros: micros(server_ticks.saturating_sub(self.server_ticks)),
            own_micros: micros(worker_ticks.saturating_sub(self.worker_ticks)),
        })
    }
}

impl Reading {
    /// The median of each figure.
    pub(crate) fn median(readings: Vec<Self>) -> Self {
        let median = |figure: fn(&Self) -> f64| {
            let mut figures: Vec<f64> = readings.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        Self {
            seconds: median(|reading| reading.seconds),
            writes: median(|reading| reading.writes),
            jobs_per_second: median(|reading| reading.jobs_per_second),
            wal_bytes: median(|reading| reading.wal_bytes),
            server_micros: median(|reading| reading.server_micros),
            own_micros: median(|reading| reading.own_micros),
        }
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { jobs_per_second, wal_bytes, server_micros, own_micros, .. } = self;
        write!(
            f,
            "{jobs_per_second:>8.0} jobs/s, {wal_bytes:>5.0} B WAL/job, CPU/job: server \
             {server_micros:>5.1} µs, this process {own_micros:>5.1} µs"
        )
    }
}

/// Bytes of write-ahead log, and transaction ids, that the server has ever used.
async fn log(pool: &PgPool) -> Result<(i64, i64)> {
    let sql = "select (pg_current_wal_insert_lsn() - '0/0')::bigint,
        pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
    Ok(sqlx::query_as(sql).fetch_one(pool).await?)
}

/// The server's first process, the parent of our backend; 0 when the server is not on this machine.
pub(crate) async fn postmaster(pool: &PgPool) -> Result<u32> {
    let backend: i32 = sqlx::query_scalar("select pg_backend_pid()").fetch_one(pool).await?;
    let Ok(stat) = fs::read_to_string(format!("/proc/{backend}/stat")) else { return Ok(0) };
    let parent = fields(&stat).nth(1).context("a parent in the process's status")?;
    Ok(parent.parse()?)
}

/// CPU time of the server: its processes, and those that have ended.
fn server_ticks(postmaster: u32) -> u64 {
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let children = pids.filter(|pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        fields(&stat).nth(1) == Some(&postmaster.to_string())
    });
    children.map(ticks).sum::<u64>() + ticks_of(postmaster, 11..15)
}

/// User and system time of a process.
fn ticks(pid: u32) -> u64 {
    ticks_of(pid, 11..13)
}

fn ticks_of(pid: u32, columns: std::ops::Range<usize>) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let columns = fields(&stat).skip(columns.start).take(columns.len());
    columns.filter_map(|text| text.parse::<u64>().ok()).sum()
}

/// The fields after the name, which may contain anything: state, parent, ….
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace()
}

/// Resident memory of a process, in MB; 0 where that is not known.
pub(crate) fn resident(pid: u32) -> f64 {
    memory(pid, "VmRSS:")
}

/// The most that it ever was.
pub(crate) fn most_resident(pid: u32) -> f64 {
    memory(pid, "VmHWM:")
}

fn memory(pid: u32, name: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
