//! Jobs that write down what they have done where the jobs are, too: as checkpoints, in the
//! transaction that completes them, or as changes of an application that they carry out.
#![allow(dead_code, reason = "compiled into both, and each uses its part")]

use std::time::Duration;

use jobkit::{Job, JobContext, job};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::jobs::{Scene, say};

/// Where these jobs write.
pub(crate) const WRITTEN: &str = "
    create table stairs (
        id bigint generated always as identity primary key,
        job_id bigint not null, attempt integer not null, what text not null, step integer);
    create table paid (job_id bigint not null, attempt integer not null);
    create table passed (job_id bigint not null, attempt integer not null, what text not null);
    create table wanted (
        id bigint generated always as identity primary key,
        kind text not null, key integer not null, mark bigint not null, what text not null,
        job_id bigint not null, promised boolean not null, done_by bigint);
    create table runs (
        id bigint generated always as identity primary key,
        kind text not null, key integer not null, mark bigint not null, job_id bigint not null,
        at timestamptz not null default clock_timestamp())";

/// Climbs so many steps, and keeps where it is after each.
#[derive(Serialize, Deserialize, Debug, Clone)]
#[job(max_attempts = 1000, backoff = fixed("20ms"), retention = "1h")]
pub(crate) struct Stairs {
    pub(crate) steps: u32,
    /// The first attempt never goes on once it has kept this one.
    pub(crate) rest_at: Option<u32>,
}

impl Job<Scene> for Stairs {
    async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
        let from = cx.last_checkpoint::<u32>().await?;
        climb(&cx, "from", from).await?;
        for step in from.unwrap_or(0) + 1..=self.steps {
            climb(&cx, "climbed", Some(step)).await?;
            cx.checkpoint(&step).await?;
            climb(&cx, "kept", Some(step)).await?;
            if self.rest_at == Some(step) && cx.attempt() == 1 {
                std::future::pending::<()>().await;
            }
            a_moment(10).await;
        }
        Ok(())
    }
}

async fn climb(cx: &JobContext<Scene>, what: &str, step: Option<u32>) -> jobkit::Result {
    sqlx::query("insert into stairs (job_id, attempt, what, step) values ($1, $2, $3, $4)")
        .bind(cx.id().0)
        .bind(i32::try_from(cx.attempt())?)
        .bind(what)
        .bind(step.map(i32::try_from).transpose()?)
        .execute(&cx.state().effects)
        .await?;
    Ok(())
}

/// When the first attempt of a payment stops for good, and says so.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    BeforeCommit,
    AfterCommit,
}

/// Is completed in the transaction of its effect.
#[derive(Serialize, Deserialize, Debug, Clone)]
#[job(
    max_attempts = 1000, backoff = fixed("20ms"), retention = "1h",
    concurrency_key = self.key, concurrency_limit = 1
)]
pub(crate) struct Pay {
    pub(crate) key: Option<u32>,
    pub(crate) halt: Option<Halt>,
}

impl Job<Scene> for Pay {
    async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
        pass(&cx, "begin").await?;
        let mut tx = cx.state().effects.begin().await?;
        sqlx::query("insert into paid (job_id, attempt) values ($1, $2)")
            .bind(cx.id().0)
            .bind(i32::try_from(cx.attempt())?)
            .execute(&mut *tx)
            .await?;
        a_moment(10).await;
        cx.complete_in(&mut tx).await?;
        self.halt_at(Halt::BeforeCommit, &cx).await;
        a_moment(60).await;
        tx.commit().await?;
        self.halt_at(Halt::AfterCommit, &cx).await;
        a_moment(60).await;
        pass(&cx, "end").await
    }
}

impl Pay {
    async fn halt_at(&self, halt: Halt, cx: &JobContext<Scene>) {
        if self.halt == Some(halt) && cx.attempt() == 1 {
            say("halted", &json!({ "job": cx.id().0 }));
            std::future::pending::<()>().await;
        }
    }
}

async fn pass(cx: &JobContext<Scene>, what: &str) -> jobkit::Result {
    sqlx::query("insert into passed (job_id, attempt, what) values ($1, $2, $3)")
        .bind(cx.id().0)
        .bind(i32::try_from(cx.attempt())?)
        .bind(what)
        .execute(&cx.state().effects)
        .await?;
    Ok(())
}

/// Does what is wanted of its key by the time it begins; one of a key at a time.
#[derive(Serialize, Deserialize, Debug, Clone)]
#[job(
    max_attempts = 1000, backoff = fixed("20ms"), retention = "1h",
    unique_key = self.key
)]
pub(crate) struct Change {
    pub(crate) key: u32,
    pub(crate) mark: i64,
}

impl Job<Scene> for Change {
    async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
        carry_out(&cx, self.key, self.mark).await
    }
}

/// The same, of which the newest runs for all.
#[derive(Serialize, Deserialize, Debug, Clone)]
#[job(
    max_attempts = 1000, backoff = fixed("20ms"), retention = "1h",
    coalesce_key = self.key
)]
pub(crate) struct Newest {
    pub(crate) key: u32,
    pub(crate) mark: i64,
}

impl Job<Scene> for Newest {
    async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
        carry_out(&cx, self.key, self.mark).await
    }
}

/// What is read at the beginning counts as done at the end: what a run has not seen is left to the
/// next one.
async fn carry_out(cx: &JobContext<Scene>, key: u32, mark: i64) -> jobkit::Result {
    let (effects, key) = (&cx.state().effects, i32::try_from(key)?);
    let wanted = "with run as (
            insert into runs (kind, key, mark, job_id) values ($1, $2, $3, $4)
        )
        select w.id from wanted w where w.kind = $1 and w.key = $2 and w.done_by is null";
    let wanted: Vec<i64> = sqlx::query_scalar(wanted)
        .bind(cx.kind())
        .bind(key)
        .bind(mark)
        .bind(cx.id().0)
        .fetch_all(effects)
        .await?;
    a_moment(80).await;
    sqlx::query("update wanted set done_by = $2 where id = any ($1)")
        .bind(wanted)
        .bind(cx.id().0)
        .execute(effects)
        .await?;
    Ok(())
}

/// So many milliseconds at most, by chance: where in it a process is killed is chance, too.
async fn a_moment(most: u64) {
    tokio::time::sleep(Duration::from_micros(fastrand::u64(..most * 1000))).await;
}
