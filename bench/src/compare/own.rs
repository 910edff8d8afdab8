//! What only jobkit is measured with.

use std::time::Duration;

use anyhow::{Result, ensure};
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgPool};

use super::Stage;
use super::contestant::{Contestant, JOBKIT};
use super::drain::{Drain, load, run, work};
use super::record::Figures;
use crate::drain::settle_down;
use crate::{hot, keyed, producers, zipf};

/// What the first 100,000 jobs cost, of 100,000 and of many more.
pub(crate) async fn backlog(stage: &Stage, many: usize) -> Result<Figures> {
    let contestant = stage.contestant(JOBKIT)?;
    let jobs = many.min(100_000);
    let few = first(stage, contestant, jobs, jobs).await?;
    let many = first(stage, contestant, many, jobs).await?;
    let mut figures = Figures::from([
        ("slower", few["jobs_per_s"] / many["jobs_per_s"]),
        ("few_per_s", few["jobs_per_s"]),
        ("many_per_s", many["jobs_per_s"]),
    ]);
    // Not known of a server on another machine.
    if few["server_us"] > 0.0 {
        figures.insert("cost", many["server_us"] / few["server_us"]);
    }
    Ok(figures)
}

async fn first(
    stage: &Stage,
    contestant: &Contestant,
    ready: usize,
    jobs: usize,
) -> Result<Figures> {
    let url = stage.database(contestant).await?;
    load(stage, contestant, &url, Drain::of(1000)).await?;
    multiply(&PgPool::connect(&url).await?, ready).await?;
    work(stage, contestant, &url, Drain::of(jobs)).await
}

/// As many jobs, in the place of the thousand that are there.
async fn multiply(pool: &PgPool, jobs: usize) -> Result<()> {
    let copies = jobs / 1000;
    let columns = "kind, queue, priority, max_attempts, run_at, created_at, args";
    let sql = format!(
        "create table sample as select {columns} from jobkit.jobs;
         truncate jobkit.jobs, jobkit.ready;
         insert into jobkit.jobs ({columns})
            select {columns} from sample cross join generate_series(1, {copies});
         insert into jobkit.ready (queue, priority, job_id, kind)
            select queue, priority, id, kind from jobkit.jobs;
         drop table sample"
    );
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(pool).await?;
    let ready: i64 =
        sqlx::query_scalar("select count(*) from jobkit.ready").fetch_one(pool).await?;
    ensure!(ready == (copies * 1000) as i64, "{ready} jobs are ready");
    settle_down(pool).await?;
    pool.close().await;
    Ok(())
}

/// The write-ahead log of a drain without a checkpoint before it: no page is logged as a whole.
pub(crate) async fn log(stage: &Stage, jobs: usize) -> Result<Figures> {
    let contestant = stage.contestant(JOBKIT)?;
    let url = stage.database(contestant).await?;
    let drain = Drain::of(jobs);
    load(stage, contestant, &url, drain).await?;
    stage.settle(&url).await?;
    work(stage, contestant, &url, drain).await?;
    let loaded = load(stage, contestant, &url, drain).await?;
    let worked = work(stage, contestant, &url, drain).await?;
    Ok(Figures::from([
        ("enqueue_bytes", loaded["wal_bytes"]),
        ("work_bytes", worked["wal_bytes"]),
        ("writes", worked["writes"]),
    ]))
}

/// A drain under a snapshot that is held open, by quarters.
pub(crate) async fn pinned(stage: &Stage, jobs: usize) -> Result<Figures> {
    let drain = Drain { pinned: true, ..Drain::of(jobs) };
    Ok(run(stage, stage.contestant(JOBKIT)?, drain).await?.1)
}

/// The memory of a long drain.
pub(crate) async fn memory(stage: &Stage, jobs: usize) -> Result<Figures> {
    Ok(run(stage, stage.contestant(JOBKIT)?, Drain::of(jobs)).await?.1)
}

/// 32 producers that hold their transactions open for 10 ms: jobs, without a worker and with one,
/// and plain rows.
pub(crate) async fn held(stage: &Stage) -> Result<Figures> {
    let pool = pool(stage).await?;
    let rates = producers::round(&pool).await?;
    pool.close().await;
    let [jobs, served, plain] = rates;
    Ok(Figures::from([
        ("ratio", jobs / plain),
        ("served", served / plain),
        ("jobs_per_s", jobs),
        ("plain_per_s", plain),
    ]))
}

/// One hot key with one permit, while a snapshot is held open.
pub(crate) async fn hot(stage: &Stage, seconds: usize) -> Result<Figures> {
    let pool = pool(stage).await?;
    let (first, last) = hot::pinned(&pool, seconds).await?;
    pool.close().await;
    Ok(Figures::from([("last_to_first", last / first), ("jobs_per_s", last / 10.0)]))
}

/// Jobs with concurrency keys beside jobs without, by a worker of 500 slots.
pub(crate) async fn keys(stage: &Stage, jobs: usize) -> Result<Figures> {
    let pool = pool(stage).await?;
    let [unkeyed, thousand, fifty, single] = keyed::compare(&pool, jobs, 1, 500).await?;
    pool.close().await;
    Ok(Figures::from([
        ("jobs_per_s", unkeyed),
        ("thousand", thousand / unkeyed),
        ("fifty", fifty / unkeyed),
        ("single", single / unkeyed),
    ]))
}

/// Many keys with two permits each, of which one has a tenth of the jobs.
pub(crate) async fn zipf(stage: &Stage, jobs: usize) -> Result<Figures> {
    let pool = pool(stage).await?;
    let drained = zipf::drain(&pool, jobs, 500).await?;
    pool.close().await;
    Ok(Figures::from([
        ("of_best", drained.run / drained.turn),
        ("turn_ms", drained.turn),
        ("run_ms", drained.run),
        ("seconds", drained.reading.seconds),
        ("server_us", drained.reading.server_micros),
        ("client_us", drained.reading.own_micros),
    ]))
}

/// A migrated database for this process.
async fn pool(stage: &Stage) -> Result<PgPool> {
    let url = stage.server.fresh().await?;
    let options = PgPoolOptions::new().max_connections(40).acquire_timeout(Duration::from_secs(30));
    let pool = options.connect(&url).await?;
    jobkit::migrate(&pool).await?;
    Ok(pool)
}
