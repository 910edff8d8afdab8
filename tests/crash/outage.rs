//! An outage of the server charges nobody.

use std::time::{Duration, Instant};

use jobkit_tests::Lab;
use private_postgres::Mode;

use crate::jobs::Act;
use crate::process::Process;
use crate::program::Program;
use crate::stage::{all_done, crashable, enqueue, light_turn, traces, with};

#[tokio::test]
async fn an_outage_of_three_leases_charges_nobody() {
    let _turn = light_turn().await;
    let (cluster, lab) = crashable(&[]).await;
    let program = Program::quick(lab.url());
    let mut workers = [Process::start(&program).await, Process::start(&program).await];
    let mut runs = 0;
    for mode in [Mode::Immediate, Mode::Fast] {
        both_may_reap(&lab).await;
        enqueue(&lab, 60, Act::Sleep(Duration::from_secs(1))).await;
        traces(&lab, runs + 20, "what = 'begin'").await;
        with(&cluster, move |cluster| cluster.stop(mode)).await;
        tokio::time::sleep(Duration::from_secs(6)).await;
        let before = [workers[0].counts().await.finished, workers[1].counts().await.finished];
        with(&cluster, |cluster| cluster.start()).await;
        let back = Instant::now();
        for (worker, before) in workers.iter_mut().zip(before) {
            recover(&lab, worker, before, back).await;
        }
        let seconds = back.elapsed().as_secs_f64();
        println!("{mode:?}: both workers finished jobs {seconds:.1} s after the server was back");
        all_done(&lab).await;
        nobody_is_charged(&lab).await;
        runs = lab.count("effects where what = 'begin'").await;
    }
    for worker in workers {
        worker.stop().await;
    }
    lab.check_invariants().await;
}

/// Waits until two workers have been up for so long that either may reap the other.
pub(crate) async fn both_may_reap(lab: &Lab) {
    lab.until("count(*) = 2 from jobkit.workers where steady_since + lease < clock_timestamp()")
        .await;
}

/// Waits until a worker finishes more than `before`, and gives it something to do.
pub(crate) async fn recover(lab: &Lab, worker: &mut Process, before: u64, back: Instant) {
    while worker.counts().await.finished <= before {
        assert!(back.elapsed() < Duration::from_secs(15), "a worker did not recover");
        enqueue(lab, 10, Act::Tally).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Checks that every job has succeeded in its first attempt.
pub(crate) async fn nobody_is_charged(lab: &Lab) {
    assert_eq!(lab.count("jobkit.finished where attempt > 1 or errors is not null").await, 0);
    assert_eq!(lab.count("jobkit.finished where outcome <> 'finish'").await, 0);
    assert_eq!(lab.count("jobkit.dead_letters").await, 0);
}
