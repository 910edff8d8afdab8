//! An outage of the server charges nobody.

use std::time::{Duration, Instant};

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
    let mut total = 0;
    for mode in [Mode::Immediate, Mode::Fast] {
        // Long enough for both to be entitled to reap.
        tokio::time::sleep(Duration::from_secs(3)).await;
        enqueue(&lab, 60, Act::Sleep(Duration::from_secs(1))).await;
        traces(&lab, total + 20, "what = 'begin'").await;
        with(&cluster, move |cluster| cluster.stop(mode)).await;
        tokio::time::sleep(Duration::from_secs(6)).await;
        with(&cluster, |cluster| cluster.start()).await;
        let back = Instant::now();
        for worker in &mut workers {
            recover(worker, back).await;
        }
        let seconds = back.elapsed().as_secs_f64();
        println!("{mode:?}: both workers finished jobs {seconds:.1} s after the server was back");
        all_done(&lab).await;
        total += 60;
        let unharmed = "jobkit.finished where attempt = 1 and errors is null";
        assert_eq!(lab.count(unharmed).await, total as i64);
    }
    for worker in workers {
        worker.stop().await;
    }
    lab.check_invariants().await;
}

/// Waits until a worker finishes jobs again.
pub(crate) async fn recover(worker: &mut Process, back: Instant) {
    let before = worker.counts().await.finished;
    while worker.counts().await.finished == before {
        assert!(back.elapsed() < Duration::from_secs(15), "a worker did not recover");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
