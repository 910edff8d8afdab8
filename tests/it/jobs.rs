//! The jobs of the tests. Each records in `effects` that it ran.

use std::time::Duration;

use jobkit::{Job, JobContext, JobError, Registration, job};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

/// Where handlers leave their traces.
pub(crate) const EFFECTS: &str = "create table effects (
    id bigint generated always as identity primary key,
    job_id bigint not null, attempt integer not null, what text not null,
    at timestamptz not null default clock_timestamp())";

/// Does what it is told.
#[derive(Serialize, Deserialize, Debug, Clone)]
#[job(queue = "default", max_attempts = 3, backoff = fixed("1ms"), retention = "1h")]
pub(crate) struct Act {
    pub(crate) then: Then,
}

#[derive(Serialize, Deserialize, Debug, Clone)]
pub(crate) enum Then {
    Succeed,
    Fail(String),
    FailTimes(u32),
    FailAfter(Duration),
    RetryIn(Duration),
    Discard,
    Dead,
    SnoozeTimes(u32),
    Panic(String),
    WaitForCancel,
    WaitForStop,
    IgnoreCancel,
    Sleep(Duration),
    Block(Duration),
}

impl Act {
    pub(crate) fn then(then: Then) -> Self {
        Self { then }
    }
}

impl Job<PgPool> for Act {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        trace(&cx, "begin").await?;
        match self.then {
            Then::Succeed => {}
            Then::Fail(error) => return Err(error.into()),
            Then::FailTimes(times) if cx.attempt() <= times => return Err("not yet".into()),
            Then::FailAfter(time) => {
                tokio::time::sleep(time).await;
                return Err("late".into());
            }
            Then::SnoozeTimes(times) if cx.snoozes() < times => {
                return Err(JobError::snooze(Duration::from_millis(1)));
            }
            Then::FailTimes(_) | Then::SnoozeTimes(_) => {}
            Then::RetryIn(wait) => return Err(JobError::retry_in(wait, "later")),
            Then::Discard => return Err(JobError::discard("pointless")),
            Then::Dead => return Err(JobError::dead("hopeless")),
            Then::Panic(message) => panic!("{message}"),
            Then::WaitForCancel => {
                let reason = cx.cancelled().await;
                trace(&cx, &format!("{reason:?}")).await?;
                return Err("stopped when asked".into());
            }
            Then::WaitForStop => {
                let reason = cx.stopping().await;
                assert_eq!(cx.stop_reason(), Some(reason));
                trace(&cx, &format!("{reason:?}")).await?;
                return Err(JobError::release());
            }
            Then::IgnoreCancel => std::future::pending().await,
            Then::Sleep(time) => tokio::time::sleep(time).await,
            Then::Block(time) => std::thread::sleep(time),
        }
        trace(&cx, "end").await
    }
}

/// Notes in the database that an attempt got this far.
pub(crate) async fn trace(cx: &JobContext<PgPool>, what: &str) -> jobkit::Result {
    sqlx::query("insert into effects (job_id, attempt, what) values ($1, $2, $3)")
        .bind(cx.id().0)
        .bind(i32::try_from(cx.attempt())?)
        .bind(what)
        .execute(cx.state())
        .await?;
    Ok(())
}

/// The same with a timeout.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 2, timeout = "50ms", backoff = fixed("1ms"))]
pub(crate) struct Slow;

impl Job<PgPool> for Slow {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        trace(&cx, "begin").await?;
        std::future::pending().await
    }
}

/// The same, and heeds it.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 2, timeout = "1s", backoff = fixed("1ms"))]
pub(crate) struct Punctual;

impl Job<PgPool> for Punctual {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        let reason = cx.stopping().await;
        trace(&cx, &format!("{reason:?}")).await?;
        if cx.attempt() == 1 { Err(JobError::release()) } else { Ok(()) }
    }
}

/// Nothing, kept nowhere.
#[derive(Serialize, Deserialize)]
#[job(retention = none)]
pub(crate) struct Noop;

impl Job for Noop {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// The jobs most tests run.
pub(crate) fn all() -> [Registration; 4] {
    [
        Registration::of::<Act, _>(),
        Registration::of::<Slow, _>(),
        Registration::of::<Punctual, _>(),
        Registration::of::<Noop, _>(),
    ]
}
