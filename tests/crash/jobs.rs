//! The jobs of the crash tests: the tests enqueue them, the worker process runs them.
#![allow(dead_code, reason = "compiled into both, and each uses its part")]

use std::io::Write;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jobkit::{Job, JobContext, JobError, StopReason, WorkerHandle, job};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::diary::Diary;

/// Where handlers leave their traces, and where processes write their tallies.
pub(crate) const TABLES: &str = "
    create table effects (
        id bigint generated always as identity primary key,
        job_id bigint not null, attempt integer not null, what text not null,
        pid integer not null, worker_id bigint not null,
        at timestamptz not null default clock_timestamp());
    create table tally (job_id bigint not null, pid integer not null)";

/// Does what it is told, and leaves a trace at its beginning and its end.
#[derive(Serialize, Deserialize, Debug, Clone)]
#[job(max_attempts = 5, backoff = fixed("20ms"), retention = "1h")]
pub(crate) struct Deed {
    pub(crate) act: Act,
}

#[derive(Serialize, Deserialize, Debug, Clone, Copy)]
pub(crate) enum Act {
    /// Leaves no trace but its id in the process's tally.
    Tally,
    Sleep(Duration),
    /// Takes that long, and gives the job back when it hears that the worker stops.
    Heed(Duration),
    /// The first attempt never ends.
    HangOnce,
    /// Never ends in the process with this id.
    HangIn(u32),
    /// The first attempt ends when it is asked to, and says on standard output when that was.
    WaitOnce,
    /// Blocks its thread, and says so on standard output before.
    Block(Duration),
    /// The first attempt blocks a thread of its own that long, and heeds nothing.
    BlockApart(Duration),
    /// Blocks its thread until it sees that the worker stops, and gives the job back.
    BlockUntilTold,
    /// Fails, whatever the attempt.
    Fail,
    /// Ends the process.
    Abort,
    /// Its outcome depends on seed, job and attempt.
    Chance(u64),
    /// Pauses the concurrency key of its job for so long, as after a 429.
    PauseKey(Duration),
}

/// What the handlers of one worker know of their process.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) effects: PgPool,
    pub(crate) place: Arc<Place>,
    pub(crate) tally: Arc<Mutex<Vec<i64>>>,
    pub(crate) diary: Option<Diary>,
}

/// The worker that runs the handlers, once it has started.
#[derive(Debug, Default)]
pub(crate) struct Place {
    pub(crate) worker: Mutex<Option<WorkerHandle>>,
    last_id: AtomicI64,
}

impl Place {
    /// The id of the worker, at this moment.
    pub(crate) async fn id(&self) -> i64 {
        loop {
            match self.last_id() {
                0 => tokio::time::sleep(Duration::from_millis(1)).await,
                id => return id,
            }
        }
    }

    /// 0 before the start; while the worker stops, the id it had.
    fn last_id(&self) -> i64 {
        if let Some(worker) = &*self.worker.lock().unwrap_or_else(PoisonError::into_inner) {
            self.last_id.store(worker.id(), Ordering::Relaxed);
        }
        self.last_id.load(Ordering::Relaxed)
    }
}

/// Deeds with a concurrency key: a group for each limit.
macro_rules! keyed {
    ($($name:ident: $limit:tt)*) => {$(
        #[derive(Serialize, Deserialize, Debug, Clone)]
        #[job(
            max_attempts = 5, backoff = fixed("20ms"), retention = "1h",
            concurrency_key = self.key, concurrency_limit = $limit
        )]
        pub(crate) struct $name {
            pub(crate) key: u32,
            pub(crate) act: Act,
        }

        impl Job<Scene> for $name {
            async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
                self.act.run(cx).await
            }
        }
    )*};
}

keyed! { OneAtOnce: 1 TwoAtOnce: 2 ThreeAtOnce: 3 TenAtOnce: 10 }

/// Deeds of one key that begin at a rate.
macro_rules! paced {
    ($($name:ident: $rate:literal, $burst:literal)*) => {$(
        #[derive(Serialize, Deserialize, Debug, Clone)]
        #[job(retention = "1h", rate = $rate, burst = $burst)]
        pub(crate) struct $name {
            pub(crate) act: Act,
        }

        impl Job<Scene> for $name {
            async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
                self.act.run(cx).await
            }
        }
    )*};
}

paced! { HundredASecond: "100/s", 50 ThousandASecond: "1000/s", 100 }

impl Job<Scene> for Deed {
    async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
        self.act.run(cx).await
    }
}

impl Act {
    async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
        let _entry = cx.state().diary.as_ref().map(|diary| diary.begin(cx.id().0));
        match self {
            Self::Tally => {
                let mut tally = cx.state().tally.lock().unwrap_or_else(PoisonError::into_inner);
                tally.push(cx.id().0);
                return Ok(());
            }
            Self::Block(time) => {
                say("blocking", &json!({ "job": cx.id().0 }));
                std::thread::sleep(time);
            }
            _ => {}
        }
        note(&cx, "begin").await;
        let first = cx.attempt() == 1;
        match self {
            Self::Sleep(time) => tokio::time::sleep(time).await,
            Self::Heed(time) => tokio::select! {
                () = tokio::time::sleep(time) => {}
                reason = cx.stopping() => {
                    assert_eq!(reason, StopReason::Stopping);
                    note(&cx, "checkpoint").await;
                    return Err(JobError::release());
                }
            },
            Self::HangOnce if first => std::future::pending().await,
            Self::HangIn(pid) if pid == std::process::id() => std::future::pending().await,
            Self::WaitOnce if first => {
                cx.cancelled().await;
                say("cancelled", &json!({ "job": cx.id().0, "at": now() }));
                return Err("stopped when asked".into());
            }
            Self::BlockApart(time) if first => cx.blocking(move |_| std::thread::sleep(time)).await,
            Self::BlockUntilTold => return block_until_told(&cx),
            Self::Fail => return Err("failed as told".into()),
            Self::Abort => std::process::abort(),
            Self::Chance(seed) => {
                let outcome = chance(seed, &cx).await;
                note(&cx, "end").await;
                return outcome;
            }
            Self::PauseKey(pause) => {
                cx.pause_key(pause).await?;
            }
            _ => {}
        }
        note(&cx, "end").await;
        Ok(())
    }
}

fn block_until_told(cx: &JobContext<Scene>) -> jobkit::Result {
    while cx.stop_reason().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(JobError::release())
}

/// Succeeds, fails, panics, snoozes, is slow or ends the process: always the same for one attempt.
async fn chance(seed: u64, cx: &JobContext<Scene>) -> jobkit::Result {
    let job = u64::try_from(cx.id().0)?;
    let turn = u64::from(cx.attempt()) << 8 | u64::from(cx.snoozes());
    let mut rng = fastrand::Rng::with_seed(seed ^ job.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ turn);
    match rng.u32(..1000) {
        0..2 => {
            if let Some(diary) = &cx.state().diary {
                diary.write("dead");
            }
            std::process::abort()
        }
        2..700 => tokio::time::sleep(Duration::from_millis(rng.u64(..20))).await,
        700..800 => return Err("failed by chance".into()),
        800..850 => panic!("panicked by chance"),
        850..920 if cx.snoozes() < 5 => {
            return Err(JobError::snooze(Duration::from_millis(rng.u64(1..500))));
        }
        // About as long as a lease, so that freezes and deaths meet it.
        _ => tokio::time::sleep(Duration::from_millis(rng.u64(500..3000))).await,
    }
    Ok(())
}

/// Leaves a trace in the database; when there is none, waits for it.
async fn note(cx: &JobContext<Scene>, what: &str) {
    let worker = cx.state().place.id().await;
    let insert = "insert into effects (job_id, attempt, what, pid, worker_id)
        values ($1, $2, $3, $4, $5)";
    while let Err(error) = sqlx::query(insert)
        .bind(cx.id().0)
        .bind(i32::try_from(cx.attempt()).unwrap_or(0))
        .bind(what)
        .bind(i32::try_from(std::process::id()).unwrap_or(0))
        .bind(worker)
        .execute(&cx.state().effects)
        .await
    {
        tracing::warn!(%error, what, "no trace yet");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Prints one line of JSON; nobody may be listening any more.
pub(crate) fn say(event: &str, more: &Value) {
    let line = json!({ "event": event, "more": more });
    let _nobody_listens = writeln!(std::io::stdout(), "{line}");
}

/// Seconds since 1970, by this machine's clock.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
