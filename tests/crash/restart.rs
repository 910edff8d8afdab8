//! An acknowledged enqueue survives a crash of the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jobkit::{Enqueue, JobId};
use jobkit_tests::Lab;
use private_postgres::Mode;
use sqlx::postgres::PgPoolOptions;
use tokio::task::JoinSet;

use crate::jobs::{Act, Deed};
use crate::outage::recover;
use crate::process::Process;
use crate::program::Program;
use crate::stage::{all_done, crashable, heavy_turn, with};

#[tokio::test]
async fn no_acknowledged_job_is_lost_when_the_server_crashes() {
    let _turn = heavy_turn().await;
    let (cluster, lab) = crashable(&[]).await;
    let program = Program { concurrency: 50, ..Program::quick(lab.url()) };
    let mut workers = [Process::start(&program).await, Process::start(&program).await];
    let enough = Arc::new(AtomicBool::new(false));
    let mut producers = JoinSet::new();
    for _ in 0..3 {
        producers.spawn(produce(lab.url().to_owned(), Arc::clone(&enough)));
    }
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        with(&cluster, |cluster| cluster.stop(Mode::Immediate)).await;
        let before = [workers[0].counts().await.finished, workers[1].counts().await.finished];
        with(&cluster, |cluster| cluster.start()).await;
        let back = Instant::now();
        for (worker, before) in workers.iter_mut().zip(before) {
            recover(&lab, worker, before, back).await;
        }
        let seconds = back.elapsed().as_secs_f64();
        println!("both workers finished jobs {seconds:.1} s after the server was back");
    }
    enough.store(true, Ordering::Relaxed);
    let acknowledged: Vec<i64> = producers.join_all().await.concat();
    all_done(&lab).await;
    assert_eq!(missing(&lab, &acknowledged).await, 0);
    let finished = lab.count("jobkit.finished").await;
    println!("{} jobs acknowledged, {finished} finished", acknowledged.len());
    assert!(acknowledged.len() > 100, "there was hardly any load");
    assert_eq!(lab.count("jobkit.dead_letters").await, 0);
    for worker in workers {
        worker.stop().await;
    }
    lab.check_invariants().await;
}

/// Enqueues jobs one by one; returns those that were acknowledged.
pub(crate) async fn produce(url: String, enough: Arc<AtomicBool>) -> Vec<i64> {
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(Duration::from_secs(1));
    let pool = pool.connect_lazy(&url).unwrap();
    let mut acknowledged = Vec::new();
    while !enough.load(Ordering::Relaxed) {
        match (Deed { act: Act::Tally }).enqueue(&pool).await {
            Ok(JobId(id)) => acknowledged.push(id),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    acknowledged
}

/// How many of these jobs have not ended.
pub(crate) async fn missing(lab: &Lab, jobs: &[i64]) -> i64 {
    sqlx::query_scalar(
        "select count(*) from unnest($1::bigint[]) as a (id)
        where not exists (select from jobkit.finished f where f.job_id = a.id)
            and not exists (select from jobkit.dead_letters d where d.job_id = a.id)",
    )
    .bind(jobs)
    .fetch_one(lab.pool())
    .await
    .unwrap()
}
