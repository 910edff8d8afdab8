//! Jobs that belong together: members of batches with their callbacks, and orders in steps.
#![allow(dead_code, reason = "compiled into both, and each uses its part")]

use std::time::Duration;

use jobkit::{Job, JobContext, JobError, job};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::jobs::Scene;

/// Where these jobs write.
pub(crate) const GATHERED: &str = "
    create table called (
        batch_id bigint not null, role text not null, members bigint not null,
        open bigint not null, finished bigint not null);
    create table added (batch_id bigint not null, job_id bigint not null);
    create table ordered (job_id bigint not null, step text not null, value bigint not null);
    create table got (job_id bigint not null, step text not null, value bigint not null)";

/// What becomes of a member.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Finish,
    /// In the transaction of its handler.
    Complete,
    FailOnce,
    Snooze,
    Die,
    Discard,
    /// Adds one that finishes, and writes that down in the same transaction.
    Add,
}

impl Fate {
    pub(crate) const ALL: [Self; 7] = [
        Self::Finish,
        Self::Complete,
        Self::FailOnce,
        Self::Snooze,
        Self::Die,
        Self::Discard,
        Self::Add,
    ];
}

#[derive(Serialize, Deserialize, Debug, Clone)]
#[job(kind = "gathered_part", max_attempts = 1000, backoff = fixed("20ms"), retention = "1h")]
pub(crate) struct Part {
    pub(crate) fate: Fate,
}

impl Job<Scene> for Part {
    async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
        a_moment(20).await;
        match self.fate {
            Fate::Finish => Ok(()),
            Fate::Complete => {
                let mut tx = cx.state().effects.begin().await?;
                cx.complete_in(&mut tx).await?;
                a_moment(20).await;
                tx.commit().await?;
                Ok(())
            }
            Fate::FailOnce if cx.attempt() == 1 => Err("once".into()),
            Fate::Snooze if cx.snoozes() == 0 => Err(JobError::snooze(Duration::from_millis(10))),
            Fate::FailOnce | Fate::Snooze => Ok(()),
            Fate::Die => Err(JobError::dead("no use")),
            Fate::Discard => Err(JobError::discard("not wanted")),
            Fate::Add => {
                let mut tx = cx.state().effects.begin().await?;
                add(&cx, &mut tx).await?;
                a_moment(20).await;
                tx.commit().await?;
                Ok(())
            }
        }
    }
}

async fn add(cx: &JobContext<Scene>, tx: &mut PgConnection) -> jobkit::Result {
    let added = cx.add_to_batch([Part { fate: Fate::Finish }], tx).await?;
    let batch = cx.batch().ok_or("a member has a batch")?;
    for job in added {
        sqlx::query("insert into added (batch_id, job_id) values ($1, $2)")
            .bind(batch.0)
            .bind(job.id().0)
            .execute(&mut *tx)
            .await?;
    }
    Ok(())
}

/// Writes what it is told of its batch, once.
#[derive(Serialize, Deserialize, Debug, Clone)]
#[job(kind = "gathered_call", max_attempts = 1000, backoff = fixed("20ms"), retention = "1h")]
pub(crate) struct Call {
    pub(crate) role: String,
}

impl Job<Scene> for Call {
    async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
        let end = cx.batch_end().await?.ok_or("a callback has a batch")?;
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let mut tx = cx.state().effects.begin().await?;
        let insert = "insert into called (batch_id, role, members, open, finished)
            values ($1, $2, $3, $4, $5)";
        sqlx::query(insert)
            .bind(end.id.0)
            .bind(self.role)
            .bind(count(end.members))
            .bind(count(end.open()))
            .bind(count(end.finished))
            .execute(&mut *tx)
            .await?;
        cx.complete_in(&mut tx).await?;
        a_moment(10).await;
        tx.commit().await?;
        Ok(())
    }
}

/// Five steps, of which every second one writes in its own transaction.
#[derive(Serialize, Deserialize, Debug, Clone)]
#[job(kind = "gathered_order", max_attempts = 1000, backoff = fixed("20ms"), retention = "1h")]
pub(crate) struct Order;

impl Job<Scene> for Order {
    async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
        let effects = &cx.state().effects;
        for number in 0..5 {
            let name = format!("step {number}");
            let value: i64 = if number % 2 == 0 {
                cx.step(&name, async || Ok(fastrand::i64(..))).await?
            } else {
                let id = cx.id().0;
                cx.step_in(&name, effects, async |tx| {
                    let value = fastrand::i64(..);
                    insert("ordered", id, &name, value, tx).await?;
                    a_moment(10).await;
                    Ok(value)
                })
                .await?
            };
            let mut connection = effects.acquire().await?;
            insert("got", cx.id().0, &name, value, &mut connection).await?;
            a_moment(10).await;
        }
        Ok(())
    }
}

async fn insert(
    table: &'static str,
    job: i64,
    step: &str,
    value: i64,
    connection: &mut PgConnection,
) -> jobkit::Result {
    let insert = match table {
        "got" => "insert into got (job_id, step, value) values ($1, $2, $3)",
        _ => "insert into ordered (job_id, step, value) values ($1, $2, $3)",
    };
    sqlx::query(insert).bind(job).bind(step).bind(value).execute(connection).await?;
    Ok(())
}

async fn a_moment(most: u64) {
    tokio::time::sleep(Duration::from_micros(fastrand::u64(..most * 1000))).await;
}
