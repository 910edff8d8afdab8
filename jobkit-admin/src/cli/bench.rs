//! A benchmark that enqueues, drains and times jobs of its own kind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::value_parser;
use jobkit::{Admin, Enqueue, Registration, Worker, WorkerHandle};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, sleep};

use self::trial::{NAME, Quantiles, Stopwatch, Trial};
use super::answer::{Answer, Failure, fields, tell};
use super::arguments::span;
use super::desk::{Answered, Desk};
use super::signal::asked_to_stop;

mod trial;

/// The pause between timed jobs.
const EVERY: Duration = Duration::from_millis(20);

#[derive(Debug, clap::Args)]
#[command(after_help = "The benchmark uses the queue and the kind jobkit_bench and refuses to \
    start if that queue has jobs. It runs every job it has enqueued before it exits, even after \
    Ctrl-C. The kind stays in the list of kinds. Other users of the database are slowed down.")]
pub(super) struct Bench {
    /// How many jobs to drain
    #[arg(long, value_name = "NUMBER", default_value_t = 20_000)]
    #[arg(value_parser = value_parser!(u32).range(1..=10_000_000))]
    jobs: u32,
    /// How long to enqueue jobs one by one, and how long to time jobs
    #[arg(long = "for", value_name = "SPAN", default_value = "5s", value_parser = span)]
    span: Duration,
    /// How many producers enqueue one by one
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    #[arg(value_parser = value_parser!(u32).range(1..=16))]
    producers: u32,
    /// How many workers drain
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    #[arg(value_parser = value_parser!(u32).range(1..=16))]
    workers: u32,
    /// How many jobs each worker runs at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 1000)]
    #[arg(value_parser = value_parser!(u32).range(1..=10_000))]
    concurrency: u32,
    /// Only runs the jobs that a killed benchmark left behind
    #[arg(long)]
    clean_up: bool,
}

/// One run.
struct Run<'a> {
    bench: Bench,
    admin: &'a Admin,
    stopwatch: Stopwatch,
    /// Set when the benchmark is asked to stop.
    stop: Arc<AtomicBool>,
}

impl Bench {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        if !self.clean_up {
            refuse_others(&desk.admin).await?;
        }
        let stop = watch_for_stop()?;
        let run = Run { bench: self, admin: &desk.admin, stopwatch: Stopwatch::default(), stop };
        if run.bench.clean_up {
            let (workers, _) = run.workers().await?;
            run.work_off(workers).await?;
            return Ok(Answer::done(json!({"left": 0}), "Nothing is left."));
        }
        let answer = run.measure().await?;
        match run.is_stopped() {
            true => Err(Failure::refused("interrupted and cleaned up")),
            false => Ok(answer),
        }
    }
}

/// Refuses a queue that has other jobs: the benchmark would run them and its figures be useless.
async fn refuse_others(admin: &Admin) -> Result<(), Failure> {
    let queues = admin.queues().await?;
    let Some(queue) = queues.iter().find(|queue| queue.queue == NAME) else { return Ok(()) };
    if queue.workers > 0 {
        return Err(Failure::refused(format!("another worker serves the queue {NAME}")));
    }
    if queue.paused.is_some() {
        return Err(Failure::refused(format!("the queue {NAME} is paused: resume it")));
    }
    if jobs_in(admin).await? > 0 {
        return Err(Failure::refused(format!(
            "the queue {NAME} has jobs: if a killed benchmark left them, use --clean-up"
        )));
    }
    Ok(())
}

/// Jobs of our queue, in any state.
async fn jobs_in(admin: &Admin) -> Result<u32, Failure> {
    let queues = admin.queues().await?;
    let ours = queues.iter().find(|queue| queue.queue == NAME);
    Ok(ours.map_or(0, |queue| {
        let places = [queue.ready, queue.scheduled, queue.blocked, queue.running];
        places.map(|count| count.number()).iter().sum()
    }))
}

/// Set once the process is asked to stop; when it is asked again it ends at once.
fn watch_for_stop() -> Result<Arc<AtomicBool>, Failure> {
    let asked = asked_to_stop().map_err(|error| Failure::refused(error.to_string()))?;
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    tokio::spawn(async move {
        asked.await;
        set.store(true, Ordering::Relaxed);
        tell("jobkit: cleaning up; interrupt again to end at once");
        if let Ok(again) = asked_to_stop() {
            again.await;
            tell("jobkit: ended; to run the jobs left behind: jobkit bench --clean-up");
            std::process::exit(1);
        }
    });
    Ok(stop)
}

impl Run<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    async fn measure(&self) -> Answered {
        let settings = self.settings().await?;
        let span = humantime::format_duration(self.bench.span);
        tell(&format!("enqueueing one by one for {span} …"));
        let (single, calls) = self.enqueue().await?;
        tell(&format!("enqueueing {} in bulk …", self.bench.jobs));
        let (bulk, filled) = self.fill().await?;
        let (workers, began) = self.workers().await?;
        let backlog = calls.len() as u64 + u64::from(filled);
        let drain = self.drain(&workers, began, backlog).await?;
        tell(&format!("timing jobs one by one for {span} …"));
        let committed = self.time().await?;
        self.work_off(workers).await?;
        let waits = self.stopwatch.since(&committed);
        let named = settings.iter().map(|(name, value)| (name.clone(), value.clone().into()));
        let json = json!({
            "settings": Value::Object(named.collect()),
            "enqueue": {"per_second": single.round(), "jobs": calls.len(), "took": calls.json()},
            "bulk": {"per_second": bulk.round(), "jobs": filled},
            "drain": {"per_second": drain.round(), "jobs": backlog},
            "latency": {"jobs": waits.len(), "took": waits.json()},
        });
        let mut shown: Vec<(&str, String)> =
            settings.iter().map(|(name, value)| (&**name, value.clone())).collect();
        shown.extend([
            ("enqueue, one by one", format!("{single:.0} jobs/s; each {}", calls.text())),
            ("enqueue, in bulk", format!("{bulk:.0} jobs/s")),
            ("drain", format!("{drain:.0} jobs/s, of {backlog} jobs")),
            ("latency, commit to start", waits.text()),
        ]);
        Ok(Answer::new(json, fields(shown)))
    }

    /// The settings that the figures depend on.
    async fn settings(&self) -> Result<Vec<(String, String)>, Failure> {
        let mut settings = self.admin.server_settings().await?;
        let Bench { producers, workers, concurrency, .. } = self.bench;
        let own = [("producers", producers), ("workers", workers), ("concurrency", concurrency)];
        settings.extend(own.map(|(name, value)| (name.to_owned(), value.to_string())));
        Ok(settings)
    }

    /// Jobs per second by all producers together, and how long each call took.
    async fn enqueue(&self) -> Result<(f64, Quantiles), Failure> {
        let began = Instant::now();
        let producer = async || {
            let mut times = Vec::new();
            while began.elapsed() < self.bench.span && !self.is_stopped() {
                let called = Instant::now();
                Trial::new(None).enqueue(self.admin.pool()).await?;
                times.push(called.elapsed().as_secs_f64() * 1000.0);
            }
            Ok::<_, Failure>(times)
        };
        let producers = (0..self.bench.producers).map(|_| producer());
        let times = futures_util::future::try_join_all(producers).await?.concat();
        Ok((times.len() as f64 / began.elapsed().as_secs_f64(), Quantiles::of(times)))
    }

    /// Jobs per second in statements of 1,000, and the number of jobs enqueued.
    async fn fill(&self) -> Result<(f64, u32), Failure> {
        let began = Instant::now();
        let mut left = self.bench.jobs;
        while left > 0 && !self.is_stopped() {
            let batch = left.min(1000);
            let jobs = (0..batch).map(|_| Trial::new(None));
            jobkit::enqueue_all(jobs, self.admin.pool()).await?;
            left -= batch;
        }
        let filled = self.bench.jobs - left;
        Ok((f64::from(filled) / began.elapsed().as_secs_f64(), filled))
    }

    /// All workers, started concurrently, and when the first one had started.
    async fn workers(&self) -> Result<(Vec<WorkerHandle>, Instant), Failure> {
        let start = async |_| {
            let worker = Worker::new(self.admin.pool().clone())
                .jobs([Registration::of::<Trial, _>()])
                .state(self.stopwatch.clone())
                .queue(NAME, self.bench.concurrency as usize);
            Ok::<_, Failure>((worker.start().await?, Instant::now()))
        };
        let started = (0..self.bench.workers).map(start);
        let started = futures_util::future::try_join_all(started).await?;
        let (workers, times): (Vec<_>, Vec<_>) = started.into_iter().unzip();
        Ok((workers, times.into_iter().min().unwrap_or_else(Instant::now)))
    }

    /// Jobs finished per second since the first worker started.
    async fn drain(
        &self,
        workers: &[WorkerHandle],
        began: Instant,
        backlog: u64,
    ) -> Result<f64, Failure> {
        let mut told = Instant::now();
        while finished(workers) < backlog {
            sleep(Duration::from_millis(2)).await;
            if told.elapsed() > Duration::from_secs(1) {
                tell(&format!("drained {} of {backlog} …", finished(workers)));
                told = Instant::now();
            }
        }
        Ok(backlog as f64 / began.elapsed().as_secs_f64())
    }

    /// When each job was committed, by number, while the worker was idle.
    async fn time(&self) -> Result<Vec<Instant>, Failure> {
        // Until the worker is idle.
        sleep(Duration::from_secs(1)).await;
        let (began, mut committed) = (Instant::now(), Vec::new());
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while began.elapsed() < self.bench.span && !self.is_stopped() {
            ticks.tick().await;
            Trial::new(Some(committed.len())).enqueue(self.admin.pool()).await?;
            committed.push(Instant::now());
        }
        Ok(committed)
    }

    /// Waits until all enqueued jobs are done.
    async fn work_off(&self, workers: Vec<WorkerHandle>) -> Result<(), Failure> {
        while jobs_in(self.admin).await? > 0 {
            sleep(Duration::from_millis(50)).await;
        }
        for worker in workers {
            worker.stop().await;
        }
        Ok(())
    }
}

fn finished(workers: &[WorkerHandle]) -> u64 {
    workers.iter().map(|worker| worker.counts().finished).sum()
}
