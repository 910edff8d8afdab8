//! Unique keys of many jobs in one call, and many calls of one key.

use jobkit_tests::Lab;

use super::calls::{Once, enqueue_unique};
use super::kit::{ENDS, World};
use super::unique::{id, once, payload};

in_a_lab![
    duplicates_within_one_call_find_the_first,
    a_bulk_enqueue_waits_for_one_key_of_many,
    bulk_enqueues_of_the_same_keys_in_opposite_order_do_not_deadlock,
    a_bulk_enqueue_gives_back_what_it_took_before_it_waits,
];

fn all(keys: &[&'static str]) -> String {
    enqueue_unique(&keys.iter().map(|key| Once::of(key)).collect::<Vec<_>>())
}

fn answers(answer: &str) -> Vec<(&str, i64)> {
    answer
        .split(", ")
        .map(|each| each.split_once(' ').unwrap())
        .map(|(what, id)| (what, id.parse().unwrap()))
        .collect()
}

/// The first of them counts; what the others ask for happens to it.
pub(crate) async fn duplicates_within_one_call_find_the_first(lab: Lab) {
    let world = World::new(lab).await;
    let answer = world.call(all(&["b", "a", "b", "a", "c"])).await;
    let answer = answers(&answer);
    let (b, a) = (answer[0].1, answer[1].1);
    let what: Vec<_> = answer.iter().map(|(what, _)| *what).collect();
    assert_eq!(what, ["enqueued", "enqueued", "existing", "existing", "enqueued"]);
    assert_eq!((answer[2].1, answer[3].1), (b, a));
    assert_eq!(world.lab.count("jobkit.jobs").await, 3);
    let replace = |key, payload| Once { on_duplicate: "replace", payload, ..Once::of(key) };
    let jobs = [replace("d", 1), replace("d", 2), replace("a", 3), replace("d", 4)];
    let answer = world.call(enqueue_unique(&jobs)).await;
    let answer = answers(&answer);
    let what: Vec<_> = answer.iter().map(|(what, _)| *what).collect();
    assert_eq!(what, ["enqueued", "replaced", "replaced", "replaced"]);
    assert_eq!(answer[2].1, a);
    assert_eq!(payload(&world, answer[0].1).await, "4");
    assert_eq!(payload(&world, a).await, "3");
    world.lab.check_invariants().await;
}

/// It waits for the one key, whatever the others are, and answers for all.
pub(crate) async fn a_bulk_enqueue_waits_for_one_key_of_many(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let first = world.hold(once("m")).await;
        let m = id(&first.answer);
        let bulk = first.waiter(all(&["z", "m", "a"])).await;
        assert!(first.bystander(once("y")).await.contains(' '));
        first.end(end).await;
        let answer = bulk.answer().await.unwrap();
        let answer = answers(&answer);
        assert_eq!((answer[0].0, answer[2].0), ("enqueued", "enqueued"));
        assert_eq!(answer[1].0, end.pick("existing", "enqueued"));
        assert_eq!(answer[1].1 == m, answer[1].0 == "existing");
        world.lab.check_invariants().await;
        world.clear().await;
        world.lab.run("delete from jobkit.unique_keys").await;
    }
}

/// Whatever the order of the caller, keys are taken in theirs.
pub(crate) async fn bulk_enqueues_of_the_same_keys_in_opposite_order_do_not_deadlock(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let first = world.hold(once("a")).await;
        let second = first.waiter(all(&["z", "a"])).await;
        assert!(first.bystander(once("z")).await.starts_with("enqueued"));
        first.end(end).await;
        assert_eq!(answers(&second.answer().await.unwrap())[0].0, "existing");
        world.lab.check_invariants().await;
        world.clear().await;
        world.lab.run("delete from jobkit.unique_keys").await;
    }
}

/// `m` is there, and somebody changes its job: the bulk must not wait for that with `z` in hand,
/// for which whoever has `m` may wait.
pub(crate) async fn a_bulk_enqueue_gives_back_what_it_took_before_it_waits(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let m = id(&world.call(once("m")).await);
        let change = Once { on_duplicate: "replace", ..Once::of("m") };
        let holder = world.hold(enqueue_unique(&[change])).await;
        assert_eq!(holder.answer, format!("replaced {m}"));
        let bulk = holder.waiter(all(&["z", "m"])).await;
        let holder = holder.go_on(once("z")).await;
        let z = id(&holder.answer);
        holder.end(end).await;
        let answer = bulk.answer().await.unwrap();
        assert_eq!(answers(&answer)[1], ("existing", m));
        assert_eq!(answers(&answer)[0].1 == z, answers(&answer)[0].0 == "existing");
        world.lab.check_invariants().await;
        world.clear().await;
        world.lab.run("delete from jobkit.unique_keys").await;
    }
}
