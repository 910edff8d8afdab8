//! One worker, several queues.

use jobkit::Enqueue;
use jobkit_tests::Lab;

use crate::jobs::{self, Act, EFFECTS, Then};
use crate::lifecycle::outcome;

/// A claim asks for 500 jobs at most, whatever is free; every queue has its share of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_queue_leaves_room_for_a_small_one() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    let worker = worker.queue("large", 1_000).queue("default", 10).start().await.unwrap();
    let job = Act::then(Then::Succeed).enqueue(lab.pool()).await.unwrap();
    assert_eq!(outcome(&lab, job).await, "finish");
    worker.stop().await;
    lab.check_invariants().await;
}
