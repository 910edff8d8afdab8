//! What a claim does not wait for: a semaphore longer than 100 ms, and producers at all.

use std::time::{Duration, Instant};

use jobkit_tests::Lab;

use super::calls::{
    Keyed, announce_limit, claim, claim_marked, enqueue_keyed, lock_key, promote, reap_claim,
    settle, settle_all,
};
use super::kit::{ENDS, End, World, list, next_n};

in_a_lab![
    t10_producers_of_the_same_keys_in_opposite_order_do_not_wait,
    t11_a_finish_does_not_wait_for_a_producer_of_its_key,
    t13_a_job_nobody_knows_holds_back_no_due_job,
    t32_a_producer_waits_for_nobody_who_makes_its_key,
    t33_an_enqueue_at_an_older_snapshot_is_admitted_later,
    t72_a_claim_beside_a_busy_key_takes_other_jobs,
    a_claim_waits_a_tenth_of_a_second_and_returns_the_rest,
    a_claim_from_the_marks_gives_back_what_it_cannot_decide,
    an_outcome_waits_for_as_long_as_it_takes,
    what_is_cut_off_at_8_mib_keeps_its_permits,
];

/// T10. An enqueue touches no semaphore.
pub(crate) async fn t10_producers_of_the_same_keys_in_opposite_order_do_not_wait(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let one = |key: &'static str| enqueue_keyed(&[key.into()]);
    let first = world.hold(one("a")).await;
    let a: i64 = first.answer.parse().unwrap();
    let second = world.hold(one("b")).await;
    let b: i64 = second.answer.parse().unwrap();
    let later: i64 = second.bystander(one("a")).await.parse().unwrap();
    let first = first.go_on(one("b")).await;
    let other: i64 = first.answer.parse().unwrap();
    second.end(End::Commit).await;
    first.end(End::Commit).await;
    assert_eq!(world.call(claim(1, next_n(), 9)).await, list(&[a, b]));
    world.expect_key("a", &[a], &[later]).await;
    world.expect_key("b", &[b], &[other]).await;
}

/// T11. However long the producer's transaction is open.
pub(crate) async fn t11_a_finish_does_not_wait_for_a_producer_of_its_key(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        let (n, [x]) = world.running_keyed(["a"]).await;
        let producer = world.hold(enqueue_keyed(&["a".into()])).await;
        let y: i64 = producer.answer.parse().unwrap();
        assert_eq!(producer.bystander(settle(1, n, x, "finish")).await, "");
        assert_eq!(producer.bystander(claim(2, next_n(), 1)).await, "");
        producer.end(end).await;
        assert_eq!(world.call(claim(2, next_n(), 1)).await, end.pick(&list(&[y]), ""));
        world.expect_key("a", end.either(&[y], &[]), &[]).await;
        world.clear().await;
    }
}

/// T13. It becomes ready, and is left there.
pub(crate) async fn t13_a_job_nobody_knows_holds_back_no_due_job(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let due = Keyed { delay: "1 hour", ..Keyed::from("a") };
    let [x, y, z] = world.keyed([Keyed { kind: "gone", ..due }, due, due]).await;
    world.an_hour_later().await;
    assert_eq!(world.call(promote(10)).await, "3");
    assert_eq!(world.call(claim(1, next_n(), 9)).await, list(&[y]));
    world.expect(x, "ready, charged 0").await;
    world.expect_key("a", &[y], &[z]).await;
}

/// T32. The caller's own rows are in the same transaction, which stays usable.
pub(crate) async fn t32_a_producer_waits_for_nobody_who_makes_its_key(lab: Lab) {
    let world = World::limited(lab, 1).await;
    world.lab.run("create table orders (id bigint)").await;
    let [x] = world.keyed(["a"]).await;
    for end in ENDS {
        let fresh = world.hold(claim(1, next_n(), 1)).await;
        let order = "insert into orders values (7)";
        let producer = world.hold_after(order, enqueue_keyed(&["a".into()])).await;
        let producer = producer.go_on("insert into orders values (8) returning null".into()).await;
        producer.end(end).await;
        fresh.end(End::Rollback).await;
    }
    assert_eq!(world.lab.count("orders").await, 2);
    assert_eq!(world.lab.count("jobkit.jobs").await, 2);
    assert_eq!(world.call(claim(1, next_n(), 9)).await, list(&[x]));
    world.lab.check_invariants().await;
}

/// T33. It decides nothing, so that what changed since its snapshot does not matter.
pub(crate) async fn t33_an_enqueue_at_an_older_snapshot_is_admitted_later(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for level in ["repeatable read", "serializable"] {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let at = format!("set transaction isolation level {level}");
        let snapshot = "select count(*)::text from jobkit.semaphores".to_owned();
        let producer = world.hold_after(&at, snapshot).await;
        assert_eq!(producer.answer, "1");
        assert_eq!(producer.bystander(settle(1, n, x, "finish")).await, "");
        assert_eq!(world.lab.count("jobkit.semaphores").await, 0);
        let producer = producer.go_on(enqueue_keyed(&["a".into()])).await;
        let y: i64 = producer.answer.parse().unwrap();
        producer.end(End::Commit).await;
        assert_eq!(world.call(claim(1, next_n(), 1)).await, list(&[y]));
        world.expect_key("a", &[y], &[]).await;
    }
}

/// A world where a claim waits for a semaphore no longer than it does in earnest.
async fn impatient(lab: Lab) -> World {
    let world = World::new(lab).await;
    assert_eq!(world.call(announce_limit("g", 1)).await, "1");
    world
}

/// T72. The key is in the hands of a claim that has not committed: the second claim has what is of
/// other keys, and leaves the rest as it was.
pub(crate) async fn t72_a_claim_beside_a_busy_key_takes_other_jobs(lab: Lab) {
    let world = impatient(lab).await;
    for end in ENDS {
        world.clear().await;
        let [x, y] = world.keyed(["k", "k"]).await;
        let [z] = world.ready().await;
        let first = world.hold(claim(1, next_n(), 1)).await;
        assert_eq!(first.answer, list(&[x]));
        let began = Instant::now();
        assert_eq!(world.call(claim(2, next_n(), 2)).await, list(&[z]));
        assert!(began.elapsed() >= Duration::from_millis(100), "waited {:?}", began.elapsed());
        world.expect(y, "ready, charged 0").await;
        first.end(end).await;
        assert_eq!(world.call(claim(2, next_n(), 2)).await, end.pick("", &list(&[x])));
        world.expect_key("k", &[x], &[y]).await;
    }
}

/// Whoever holds the semaphore: what has no key is returned, and what is of keys that nobody holds;
/// the others are ready again.
pub(crate) async fn a_claim_waits_a_tenth_of_a_second_and_returns_the_rest(lab: Lab) {
    let world = impatient(lab).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["m"]).await;
        let [plain, other] = world.ready().await;
        let [a, m, next, z] = world.keyed(["a", "m", "m", "z"]).await;
        let finish = world.hold(settle(1, n, x, "finish")).await;
        let mine = next_n();
        let began = Instant::now();
        assert_eq!(world.call(claim(2, mine, 9)).await, list(&[plain, other, a, z]));
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(100) && took < Duration::from_secs(3), "{took:?}");
        for job in [m, next] {
            world.expect(job, "ready, charged 0").await;
        }
        world.expect(plain, &format!("running 2/{mine}, charged 0")).await;
        assert_eq!(world.lab.count("jobkit.claims where keyed and worker_id = 2").await, 1);
        finish.end(end).await;
        let granted = end.either(vec![m], vec![]);
        assert_eq!(world.call(claim(2, next_n(), 9)).await, list(&granted));
        let (holder, blocked) = end.either((m, vec![next]), (x, vec![m, next]));
        world.expect_key("m", &[holder], &blocked).await;
        let both = settle_all(2, mine, &[(plain, "finish"), (other, "finish")]);
        assert_eq!(world.call(both).await, "");
    }
}

/// A claim with nothing else in it is empty; a holder of a permit in it does not wait.
pub(crate) async fn a_claim_from_the_marks_gives_back_what_it_cannot_decide(lab: Lab) {
    let world = impatient(lab).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let (other, [y]) = world.running_keyed(["b"]).await;
    assert_eq!(world.call(settle(1, other, y, "release")).await, format!("{y} unblock"));
    let [z] = world.keyed(["a"]).await;
    let holder = world.hold(lock_key("a")).await;
    assert_eq!(world.call(claim_marked(2, next_n(), 9)).await, list(&[y]));
    assert_eq!(world.call(claim_marked(2, next_n(), 9)).await, "");
    assert_eq!(world.lab.count("jobkit.claims where worker_id = 2 and keyed").await, 1);
    world.expect(z, "ready, charged 0").await;
    world.expect_key("a", &[x], &[]).await;
    holder.end(End::Commit).await;
    assert_eq!(world.call(settle(1, n, x, "finish")).await, "");
    assert_eq!(world.call(claim_marked(2, next_n(), 9)).await, list(&[z]));
    world.expect_key("a", &[z], &[]).await;
    world.expect_key("b", &[y], &[]).await;
}

/// Outcomes and reaps have no such limit: they would have to be repeated.
pub(crate) async fn an_outcome_waits_for_as_long_as_it_takes(lab: Lab) {
    let world = impatient(lab).await;
    for reap in [false, true] {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.blocked(["a"]).await;
        let lock = "select taken::text from jobkit.semaphores for update".to_owned();
        let holder = world.hold(lock).await;
        if reap {
            world.bury_worker(1).await;
        }
        let call = if reap { reap_claim(1, n) } else { settle(1, n, x, "finish") };
        let waits = holder.waiter(call).await;
        // Long after a claim has given up.
        assert_eq!(world.call(claim(2, next_n(), 1)).await, "");
        let [z] = world.keyed(["a"]).await;
        assert_eq!(world.call(claim(2, next_n(), 1)).await, "");
        world.expect(z, "ready, charged 0").await;
        holder.end(End::Rollback).await;
        let told = if reap { "1".to_owned() } else { format!("{y} unblock") };
        assert_eq!(waits.answer().await, Ok(told));
        let (holder, blocked) = if reap { (x, vec![y]) } else { (y, vec![]) };
        world.expect_key("a", &[holder], &blocked).await;
    }
}

/// The jobs that did not fit go back as they are now: with the permits they were just given, and
/// with those they had.
pub(crate) async fn what_is_cut_off_at_8_mib_keeps_its_permits(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let large = |key: &'static str| Keyed { size: 3 * 1024 * 1024, ..Keyed::from(key) };
    let (n, [had]) = world.running_keyed([large("a")]).await;
    let rest = world.keyed([large("b"), large("c"), large("d"), large("d")]).await;
    let [b, c, d, waits] = rest;
    let [plain] = world.ready().await;
    assert_eq!(world.call(settle(1, n, had, "release")).await, format!("{had} unblock"));
    let mine = next_n();
    // The holder of a permit comes first, then two of the others, of which one fits.
    assert_eq!(world.call(claim(2, mine, 9)).await, list(&[had, b]));
    for job in [c, d] {
        world.expect(job, "ready with permit, charged 0").await;
    }
    world.expect(plain, "ready, charged 0").await;
    for (key, job, blocked) in
        [("a", had, vec![]), ("b", b, vec![]), ("c", c, vec![]), ("d", d, vec![waits])]
    {
        world.expect_key(key, &[job], &blocked).await;
    }
    // And with a permit that it had.
    assert_eq!(world.call(claim(2, next_n(), 9)).await, list(&[c, d, plain]));
    let both = settle_all(2, mine, &[(had, "release"), (b, "release")]);
    world.call(both).await;
    world.lab.run("update jobkit.jobs set args = to_jsonb(repeat('x', 6000000))").await;
    assert_eq!(world.call(claim(2, next_n(), 9)).await, list(&[had]));
    world.expect(b, "ready with permit, charged 0").await;
    world.lab.check_invariants().await;
}
