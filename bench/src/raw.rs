//! The same storage design without a framework: four connections, batches of 100, one statement to
//! claim, one to complete. What a library on top of it can reach at best.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::Result;
use sqlx::{PgPool, Row};

use crate::drain::{Payload, settle_down};
use crate::meter::{Meter, Reading};

const TABLES: &str = "
create schema raw;
create table raw.jobs (
    id bigint generated always as identity primary key, queue text not null default 'default',
    kind text not null, args jsonb not null, run_at timestamptz not null default now(),
    created_at timestamptz not null default now(), priority smallint not null default 0,
    attempt smallint not null default 0, finished_at timestamptz);
create table raw.ready (
    queue text not null, priority smallint not null, id bigint not null,
    primary key (queue, priority, id));
create table raw.claims (
    tag bigint generated always as identity primary key, worker integer not null,
    at timestamptz not null default now(), ids bigint[] not null);";

const ENQUEUE: &str = "
with j as (
    insert into raw.jobs (kind, args) select 'noop', a from unnest($1::jsonb[]) a
    returning queue, priority, id
)
insert into raw.ready (queue, priority, id) select * from j";

const CLAIM: &str = "
with c as (
    delete from raw.ready where ctid = any (array(
        select ctid from raw.ready where queue = 'default' and priority = 0 and id > $2
        order by priority, id limit 100 for update skip locked))
    returning id
), i as (
    insert into raw.claims (worker, ids) select $1, array_agg(id) from c having count(*) > 0
    returning tag
)
select j.id, j.kind, j.args, i.tag from i, raw.jobs j where j.id = any (array(select id from c))";

const COMPLETE: &str = "
with c as (delete from raw.claims where tag = $2) delete from raw.jobs where id = any ($1)";

pub(crate) async fn prepare(pool: &PgPool) -> Result<()> {
    sqlx::raw_sql(TABLES).execute(pool).await?;
    Ok(())
}

/// One drain.
pub(crate) async fn drain(pool: &PgPool, jobs: usize) -> Result<Reading> {
    for start in (0..jobs).step_by(1000) {
        let payloads: Vec<_> =
            (start..jobs.min(start + 1000)).map(|n| sqlx::types::Json(Payload::new(n))).collect();
        sqlx::query(ENQUEUE).bind(payloads).execute(pool).await?;
    }
    settle_down(pool).await?;
    let mark = Arc::new(AtomicI64::new(0));
    let meter = Meter::start(pool).await?;
    let loops: Vec<_> =
        (0..4).map(|worker| tokio::spawn(run(pool.clone(), worker, Arc::clone(&mark)))).collect();
    for one in loops {
        one.await??;
    }
    meter.stop(pool, jobs).await
}

async fn run(pool: PgPool, worker: i32, mark: Arc<AtomicI64>) -> Result<()> {
    let mut connection = pool.acquire().await?;
    loop {
        let above = mark.load(Ordering::Relaxed);
        let claim = sqlx::query(CLAIM).bind(worker).bind(above);
        let rows = claim.fetch_all(&mut *connection).await?;
        let Some(first) = rows.first() else { return Ok(()) };
        let tag: i64 = first.try_get("tag")?;
        let mut ids = Vec::with_capacity(rows.len());
        for row in &rows {
            let _decoded: sqlx::types::Json<Payload> = row.try_get("args")?;
            ids.push(row.try_get::<i64, _>("id")?);
        }
        mark.fetch_max(ids.iter().min().map_or(0, |id| id - 1), Ordering::Relaxed);
        sqlx::query(COMPLETE).bind(&ids).bind(tag).execute(&mut *connection).await?;
    }
}
