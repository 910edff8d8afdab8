//! The others of a claim, while a handler's transaction is open.

use std::time::{Duration, Instant};

use jobkit_tests::Lab;

use super::{How, Pay, hand, start};

/// The claim row is one for a batch, and a transaction may be open for long. Its mates take as long
/// as beside one that waits in no transaction, however busy the machine is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batch_mates_are_settled_meanwhile() {
    let lab = Lab::new().await;
    lab.run("create table effects (job bigint, attempt integer)").await;
    let hand = hand(&lab, "");
    let worker = start(&lab, &hand).await;
    let mut times = [Vec::new(), Vec::new()];
    for round in 1..=18 {
        let lingers = round % 2 == 0;
        let first = if lingers { How::Linger } else { How::Wait };
        let mates = (0..20).map(|at| if at == 0 { first } else { How::Wait });
        jobkit::enqueue_all(mates.map(|how| Pay { how }), lab.pool()).await.unwrap();
        hand.until_waiting(round * 20).await;
        let before = lab.count("jobkit.finished").await;
        let began = Instant::now();
        hand.ends.add_permits(19);
        while lab.count("jobkit.finished").await < before + 19 {
            assert!(began.elapsed() < Duration::from_secs(30), "mates wait for the transaction");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        times[usize::from(lingers)].push(began.elapsed());
        if lingers {
            assert_eq!(lab.count("jobkit.claims where cardinality(job_ids) = 1").await, 1);
            hand.go_on.notify_one();
        } else {
            hand.ends.add_permits(1);
        }
        lab.until("not exists (select from jobkit.claims)").await;
    }
    worker.stop().await;
    let [without, beside] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    println!(
        "19 batch mates were settled within {beside:?}, and without a transaction {without:?}"
    );
    assert!(beside < 2 * without + Duration::from_millis(50), "{beside:?}, {without:?}");
    lab.check_invariants().await;
}
