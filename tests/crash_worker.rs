//! A worker process for the crash tests: it is killed, frozen and cut off, so it does nothing by
//! itself but run jobs. Lines on its standard input ask for its counters (`count`) or its end
//! (`stop`, or the end of the input); one with a limit for its stop hears signals instead.

#[path = "crash/diary.rs"]
mod diary;
#[path = "crash/gathered.rs"]
mod gathered;
#[path = "crash/jobs.rs"]
mod jobs;
#[path = "crash/program.rs"]
mod program;
#[path = "crash/written.rs"]
mod written;

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use jobkit::{Registration, Worker};
use serde_json::{Value, json};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::diary::Diary;
use crate::gathered::{Call, Order, Part};
use crate::jobs::{
    Deed, HundredASecond, OneAtOnce, Place, Scene, TenAtOnce, ThousandASecond, ThreeAtOnce,
    TwoAtOnce, say,
};
use crate::program::Program;
use crate::written::{Change, Newest, Pay, Stairs};

fn main() -> Result<()> {
    let program = std::env::args().nth(1).context("usage: crash-worker PROGRAM")?;
    let program: Program = serde_json::from_str(&program)?;
    let (filter, log) = match &program.log {
        Some(file) => (EnvFilter::new("jobkit=info"), BoxMakeWriter::new(File::create(file)?)),
        None => (EnvFilter::from_default_env(), BoxMakeWriter::new(std::io::stderr)),
    };
    let format = tracing_subscriber::fmt().with_ansi(program.log.is_none());
    format.with_env_filter(filter).with_writer(log).init();
    let mut runtime = match program.threads {
        0 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(program.threads.max(1)).enable_all().build()?;
    let (said, lines) = tokio::sync::mpsc::unbounded_channel();
    // A thread of its own: this process must hear even when its handlers block the runtime.
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let _deaf = said.send(line);
        }
    });
    runtime.block_on(serve(program, lines))
}

async fn serve(program: Program, mut lines: UnboundedReceiver<String>) -> Result<()> {
    let effects = PgPoolOptions::new().max_connections(4).connect(&program.effects_url).await?;
    let tally = Arc::default();
    let mut places = Vec::new();
    for _ in 0..program.workers {
        places.push(start(&program, &effects, &tally).await?);
    }
    say("ready", &counts(&places));
    if program.stop_within.is_none() {
        while let Some(line) = lines.recv().await {
            match line.as_str() {
                "count" => say("counts", &counts(&places)),
                _ => break,
            }
        }
    }
    let mut ends = JoinSet::new();
    for place in places {
        // Its handlers know it by this id from here on.
        place.id().await;
        let worker = place.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        let worker = worker.context("it was started")?;
        ends.spawn(async move {
            if program.stop_within.is_some() {
                return worker.run_until_signal().await;
            }
            worker.stop().await;
            Ok(())
        });
    }
    ends.join_all().await.into_iter().collect::<Result<(), _>>()?;
    let jobs = std::mem::take(&mut *tally.lock().unwrap_or_else(PoisonError::into_inner));
    write_tally(&effects, jobs).await
}

/// What it runs.
fn jobs() -> [Registration; 14] {
    [
        Registration::of::<Deed, _>(),
        Registration::of::<OneAtOnce, _>(),
        Registration::of::<TwoAtOnce, _>(),
        Registration::of::<ThreeAtOnce, _>(),
        Registration::of::<TenAtOnce, _>(),
        Registration::of::<HundredASecond, _>(),
        Registration::of::<ThousandASecond, _>(),
        Registration::of::<Stairs, _>(),
        Registration::of::<Pay, _>(),
        Registration::of::<Change, _>(),
        Registration::of::<Newest, _>(),
        Registration::of::<Part, _>(),
        Registration::of::<Call, _>(),
        Registration::of::<Order, _>(),
    ]
}

async fn start(
    program: &Program,
    effects: &PgPool,
    tally: &Arc<Mutex<Vec<i64>>>,
) -> Result<Arc<Place>> {
    let place = Arc::<Place>::default();
    let diary = program.diary.as_ref().map(|folder| Diary::open(folder, std::process::id()));
    let scene = Scene {
        effects: effects.clone(),
        place: Arc::clone(&place),
        tally: Arc::clone(tally),
        diary: diary.transpose()?,
    };
    // Never connected: the worker makes its own connections from the pool's options.
    let pool = PgPool::connect_lazy(&program.url)?;
    let mut worker = Worker::new(pool).state(scene).jobs(jobs());
    worker = worker.listen(program.listen);
    for queue in &program.queues {
        worker = worker.queue(queue, program.concurrency);
    }
    worker = match program.stop_within {
        Some(limit) => worker.stop_within(limit),
        None => worker.stop_grace(Duration::from_secs(5)).cancel_grace(Duration::from_millis(500)),
    };
    if let Some(lease) = program.lease {
        worker = worker.lease(lease);
    }
    if let Some(every) = program.reap_every {
        worker = worker.reap_every(every);
    }
    if let Some(every) = program.sweep_every {
        worker = worker.sweep_every(every);
    }
    if let Some(every) = program.poll {
        worker = worker.poll(every);
    }
    if let Some(few) = program.few_connections {
        worker = worker.few_connections(few);
    }
    if let Some(deadline) = program.call_deadline {
        worker = worker.call_deadline(deadline);
    }
    let worker = worker.start().await?;
    *place.worker.lock().unwrap_or_else(PoisonError::into_inner) = Some(worker);
    Ok(place)
}

/// The sums of the workers' counters, and their ids.
fn counts(places: &[Arc<Place>]) -> Value {
    let mut ids = Vec::new();
    let [mut claimed, mut finished, mut lost, mut reaped, mut unanswered] = [0; 5];
    for place in places {
        if let Some(worker) = &*place.worker.lock().unwrap_or_else(PoisonError::into_inner) {
            let counts = worker.counts();
            ids.push(worker.id());
            claimed += counts.claimed;
            finished += counts.finished;
            lost += counts.lost;
            reaped += counts.reaped;
            unanswered += counts.unanswered;
        }
    }
    json!({ "workers": ids, "claimed": claimed, "finished": finished, "lost": lost,
        "reaped": reaped, "unanswered": unanswered })
}

async fn write_tally(effects: &PgPool, jobs: Vec<i64>) -> Result<()> {
    if !jobs.is_empty() {
        sqlx::query("insert into tally (job_id, pid) select unnest($1::bigint[]), $2")
            .bind(jobs)
            .bind(i32::try_from(std::process::id())?)
            .execute(effects)
            .await?;
    }
    Ok(())
}
