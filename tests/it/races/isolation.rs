//! Isolation levels: what waits and then reads needs READ COMMITTED and says so; an enqueue runs in
//! whatever transaction its caller has.

use std::time::Duration;

use jobkit::admin::jobs::Cancelled;
use jobkit::{Admin, Enqueue};
use jobkit_tests::Lab;

use super::calls::{
    cancel_mark, cancel_take, claim, enqueue, finished_prepare, reap_claim, reap_workers,
    release_lost, settle,
};
use super::kit::{End, World, next_n};
use crate::jobs::{Act, EFFECTS, Then};
use crate::lifecycle::{act, outcome, start};

in_a_lab![
    what_waits_and_then_reads_refuses_other_levels,
    an_enqueue_works_at_every_level,
    everything_works_where_repeatable_read_is_the_default,
];

const LEVELS: [&str; 3] = ["read committed", "repeatable read", "serializable"];

/// Under REPEATABLE READ a function would decide on what was true before its wait.
pub(crate) async fn what_waits_and_then_reads_refuses_other_levels(lab: Lab) {
    let world = World::new(lab).await;
    let (n, [x]) = world.running().await;
    let [y] = world.ready().await;
    world.call(cancel_mark(y)).await;
    for call in [
        claim(1, next_n(), 1),
        settle(1, n, x, "finish"),
        reap_workers(),
        reap_claim(1, n),
        release_lost(1, n, &[]),
        cancel_take(y),
        finished_prepare(3),
    ] {
        for level in &LEVELS[1..] {
            let at = format!("set transaction isolation level {level}");
            assert_eq!(world.refusal_after(&at, call.clone()).await, "JK002", "{level}: {call}");
        }
    }
    world.expect(x, &format!("running 1/{n}, charged 0")).await;
    world.expect(y, "ready, charged 0").await;
    world.lab.check_invariants().await;
}

/// Two producers at each pair of levels neither wait nor fail.
pub(crate) async fn an_enqueue_works_at_every_level(lab: Lab) {
    let world = World::new(lab).await;
    for level in LEVELS {
        let at = format!("set transaction isolation level {level}");
        let first = world.hold_after(&at, enqueue(2)).await;
        for other in LEVELS {
            let at = format!("set transaction isolation level {other}");
            let second = world.hold_after(&at, enqueue(1)).await;
            assert!(!second.answer.is_empty());
            second.end(End::Commit).await;
        }
        first.end(End::Commit).await;
    }
    assert_eq!(world.lab.count("jobkit.ready").await, 3 * (2 + 3));
    world.lab.check_invariants().await;
}

/// The engine's connections say READ COMMITTED themselves, whatever the database's default is.
pub(crate) async fn everything_works_where_repeatable_read_is_the_default(lab: Lab) {
    lab.run(EFFECTS).await;
    let database: String = lab.value("select current_database()::text").await;
    let default = "set default_transaction_isolation = 'repeatable read'";
    lab.run(&format!("alter database {database} {default}")).await;
    // Connections made before have the old default.
    let lab = Lab::at(lab.url().to_owned()).await;
    assert_eq!(lab.value::<String>("show transaction_isolation").await, "repeatable read");

    let mut tx = lab.pool().begin().await.unwrap();
    let orphan = Act::then(Then::Succeed).enqueue(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    lab.run("delete from jobkit.ready").await;
    let claim = "insert into jobkit.claims (worker_id, n, job_ids) values";
    lab.run(&format!("{claim} (7, 1, array[{orphan}])")).await;
    let worker = start(&lab).await;
    for (then, ending) in [
        (Then::FailTimes(1), "finish"),
        (Then::Fail("no".to_owned()), "exhausted"),
        (Then::SnoozeTimes(2), "finish"),
        (Then::Discard, "discard"),
    ] {
        let job = act(&lab, then).await;
        assert_eq!(outcome(&lab, job).await, ending);
    }
    let running = act(&lab, Then::WaitForCancel).await;
    lab.until(&format!("exists (select from effects where job_id = {running})")).await;
    let admin = Admin::new(lab.pool());
    // On a busy machine its own claim may have ended it before the call looks again.
    let cancelled = admin.job(running).cancel().await.unwrap();
    assert!(matches!(cancelled, Cancelled::Requested | Cancelled::Now), "{cancelled:?}");
    assert_eq!(outcome(&lab, running).await, "cancel");
    let waiting = Act::then(Then::Succeed).options().after(Duration::from_secs(3600));
    let waiting = waiting.enqueue(lab.pool()).await.unwrap();
    assert_eq!(admin.job(waiting).cancel().await.unwrap(), Cancelled::Now);
    assert_eq!(outcome(&lab, orphan).await, "finish");
    worker.stop().await;
    lab.check_invariants().await;
    assert_eq!(lab.count("jobkit.jobs").await, 0);
}
