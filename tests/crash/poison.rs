//! A job that kills its process ends in the dead letters, and does not take its neighbours along.

use std::time::{Duration, Instant};

use crate::jobs::Act;
use crate::process::Process;
use crate::program::Program;
use crate::stage::{PATIENCE, enqueue, heavy_turn, hurry, lab};

#[tokio::test]
async fn a_job_that_aborts_its_process_is_buried_and_its_neighbours_finish() {
    let _turn = heavy_turn().await;
    let lab = lab().await;
    let began = Instant::now();
    let innocents = enqueue(&lab, 25, Act::Sleep(Duration::from_secs(1))).await;
    let aborter = enqueue(&lab, 1, Act::Abort).await[0];
    let more = enqueue(&lab, 24, Act::Sleep(Duration::from_secs(1))).await;
    let program = Program { concurrency: 50, ..Program::quick(lab.url()) };
    let mut processes: Vec<Process> = (0..4).map(|_| Process::launch(&program)).collect();
    let mut deaths = 0;
    while lab.count("jobkit.jobs").await > 0 {
        assert!(began.elapsed() < PATIENCE, "jobs are left");
        for process in processes.iter_mut().filter_map(|p| p.is_dead().then_some(p)) {
            *process = Process::launch(&program);
            deaths += 1;
        }
        hurry(&lab).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    println!("done after {:.1} s", began.elapsed().as_secs_f64());

    let dead: (i64, String, i32) =
        sqlx::query_as("select job_id, reason, attempt from jobkit.dead_letters")
            .fetch_one(lab.pool())
            .await
            .unwrap();
    assert_eq!(dead, (aborter.0, "crashed".to_owned(), 5));
    let begins = format!("effects where what = 'begin' and job_id = {aborter}");
    assert_eq!(lab.count(&begins).await, 5);
    assert_eq!(deaths, 5);
    let finished = lab.count("jobkit.finished where outcome = 'finish'").await;
    assert_eq!(finished, (innocents.len() + more.len()) as i64);
    let attempts: Vec<(i32, i64)> = sqlx::query_as(
        "select attempt, count(*) from jobkit.finished group by attempt order by attempt",
    )
    .fetch_all(lab.pool())
    .await
    .unwrap();
    println!("neighbours by attempts they needed: {attempts:?}");
    // Two deaths make a neighbour a suspect too, and then it is kept apart. A third it can only
    // meet while it is on its way back from a claim made beside the running aborter.
    let hit: i64 = attempts.iter().filter(|(attempt, _)| *attempt > 3).map(|(_, jobs)| jobs).sum();
    assert!(hit <= 5, "{hit} neighbours died with the aborter more than twice");
    for process in processes {
        process.stop().await;
    }
    lab.check_invariants().await;
}
