//! Producers and workers: neither waits for the other, whoever leaves a transaction open.

use std::time::Duration;

use jobkit::Enqueue;
use jobkit_tests::Lab;

use super::calls::{
    cancel_mark, cancel_take, claim, claim_marked, deregister, enqueue, enqueue_with,
    finished_prepare, heartbeat, orphaned_claims, promote, reap_claim, reap_workers, release_lost,
    settle,
};
use super::kit::{ENDS, End, World, list, next_n};
use crate::jobs::Noop;

in_a_lab![
    nobody_waits_for_a_producer,
    a_producer_waits_for_nobody,
    delayed_enqueues_of_serializable_transactions_do_not_clash,
];

/// T103: while a producer's transaction is open every other call is answered, and sees nothing of
/// its jobs.
pub(crate) async fn nobody_waits_for_a_producer(lab: Lab) {
    let world = World::new(lab).await;
    world.lab.run("select jobkit.sleep(1, '{default}', '1 day')").await;
    for end in ENDS {
        let (n, [x, y]) = world.running().await;
        let due: [i64; 2] = world.due().await;
        let producer = world.hold(enqueue(3)).await;
        let producer = producer.go_on(enqueue_with(1, 3, "'1 ms'")).await;
        assert_eq!(producer.bystander(promote(10)).await, "2");
        let other = producer.bystander(enqueue(1)).await;
        let claimed = next_n();
        let taken = producer.bystander(claim(2, claimed, 10)).await;
        assert_eq!(taken, format!("{} {other}", list(&due)));
        assert_eq!(producer.bystander(claim_marked(2, next_n(), 10)).await, "");
        assert_eq!(producer.bystander(settle(1, n, x, "finish")).await, "");
        assert_eq!(producer.bystander(settle(1, n, y, "retry")).await, "");
        assert_eq!(producer.bystander(heartbeat(2)).await, "true");
        assert_eq!(producer.bystander(cancel_mark(y)).await, "true");
        assert_eq!(producer.bystander(cancel_take(y)).await, "true");
        assert_eq!(producer.bystander(release_lost(2, claimed, &[claimed])).await, "0");
        assert_eq!(producer.bystander(orphaned_claims()).await, "");
        assert_eq!(producer.bystander(finished_prepare(2)).await, "0");
        producer.end(end).await;
        for job in due {
            assert_eq!(world.call(settle(2, claimed, job, "finish")).await, "");
        }
        world.lab.until("(select promoted from jobkit.promote(10)) >= 0").await;
        world.lab.check_invariants().await;
        world.clear().await;
        world.lab.run("update jobkit.workers set lease_until = now() + interval '1 day'").await;
    }
}

/// The web request that enqueues never waits for a worker, whatever the worker is in the middle of.
pub(crate) async fn a_producer_waits_for_nobody(lab: Lab) {
    let world = World::new(lab).await;
    world.lab.run("select jobkit.sleep(1, '{default}', '1 day')").await;
    let (n, [x, y]) = world.running().await;
    let _due: [i64; 1] = world.due().await;
    let [waiting, marked] = world.ready().await;
    world.call(cancel_mark(marked)).await;
    for call in [
        claim(2, next_n(), 1),
        promote(10),
        settle(1, n, x, "finish"),
        settle(1, n, y, "bury"),
        release_lost(1, n, &[]),
        heartbeat(1),
        cancel_mark(waiting),
        cancel_take(marked),
        finished_prepare(9),
        "select jobkit.sleep(2, '{default}', '1 day')::text".to_owned(),
        "update jobkit.kinds set announced_at = now() returning kind".to_owned(),
    ] {
        let worker = world.hold(call).await;
        assert_ne!(worker.bystander(enqueue(2)).await, "");
        worker.end(End::Rollback).await;
    }
    world.lapse(1).await;
    for call in [reap_workers(), deregister(1)] {
        let reaper = world.hold(call).await;
        assert_ne!(reaper.bystander(enqueue(2)).await, "");
        reaper.end(End::Rollback).await;
    }
    world.bury_worker(1).await;
    let reaper = world.hold(reap_claim(1, n)).await;
    assert_ne!(reaper.bystander(enqueue(2)).await, "");
    reaper.end(End::Commit).await;
    world.lab.check_invariants().await;
}

/// Each looks whether somebody has to be told of its job: if it read what others write, one of two
/// would fail.
pub(crate) async fn delayed_enqueues_of_serializable_transactions_do_not_clash(lab: Lab) {
    let mut producers = [lab.session("one").await, lab.session("two").await];
    for producer in &mut producers {
        producer.run("begin isolation level serializable").await.unwrap();
        let soon = Noop.options().after(Duration::from_millis(300));
        soon.enqueue(&mut producer.connection).await.unwrap();
    }
    for producer in &mut producers {
        producer.run("commit").await.unwrap();
    }
    assert_eq!(lab.count("jobkit.scheduled").await, 2);
}
