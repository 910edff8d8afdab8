//! Bounds beside enqueues, and claims of queues that share slots beside each other and a pause.

use jobkit_tests::Lab;

use super::kit::{ENDS, World, list, next_n};

in_a_lab![
    t230_an_enqueue_waits_for_no_look_at_its_bound,
    t231_a_look_passes_over_what_another_looks_at,
    t232_two_claims_of_shared_slots_take_no_more_than_each_has_room,
    t233_a_claim_of_shared_slots_behind_a_pause_takes_of_the_others,
    t234_a_grant_reaches_who_serves_by_a_pattern,
    t235_a_bound_holds_where_nobody_looks,
    what_waits_for_a_permit_counts_for_a_bound,
];

fn enqueue(queue: &str) -> String {
    format!("select jobkit.enqueue('act', p_queue => '{queue}')::text")
}

fn look() -> String {
    "select jobkit.look_at_bounds()::text".to_owned()
}

/// A claim of worker 1 of queues that share so many slots, in this order. Above marks which are all
/// at the start, or from the start.
fn claim(n: i64, queues: &[&str], room: usize, marked: bool) -> String {
    let count = queues.len();
    let of_each = |value: &str| format!("array_fill({value}, array[{count}])");
    let marks = match marked {
        true => format!(
            "array_fill(0::bigint, array[{}]), {}, {}",
            14 * count,
            of_each("6"),
            of_each("7")
        ),
        false => "'{}', '{}', '{}'".to_owned(),
    };
    format!(
        "select coalesce(string_agg(job_id::text, ' ' order by job_id), '')
        from jobkit.claim(1, {n},
        '{{act}}', '{{{}}}', {}, {marks}, '{{}}', {}, array[{room}])",
        queues.join(","),
        of_each(&room.to_string()),
        of_each("1"),
    )
}

async fn ready(world: &World, queue: &str, count: usize) -> Vec<i64> {
    let mut jobs = Vec::new();
    for _ in 0..count {
        jobs.push(world.call(enqueue(queue)).await.parse().unwrap());
    }
    jobs
}

async fn bounded(lab: Lab, most: i32) -> World {
    let world = World::new(lab).await;
    world
        .lab
        .run(&format!(
            r#"select jobkit.set_limit('queue', 'default', null, '{{"waiting": {most}}}')"#
        ))
        .await;
    // The last look is long ago.
    let old =
        "update jobkit.bounds set open_until = 'epoch', looked_at = 'epoch', next_look = 'epoch'";
    world.lab.run(old).await;
    world
}

/// T230: neither for a look, nor for an operator who changes the bound.
pub(crate) async fn t230_an_enqueue_waits_for_no_look_at_its_bound(lab: Lab) {
    let world = bounded(lab, 3).await;
    for call in [
        look(),
        "select jobkit.set_limit('queue', 'default', null, '{\"waiting\": 4}')::text".to_owned(),
    ] {
        let held = world.hold(call).await;
        assert!(held.bystander(enqueue("default")).await.parse::<i64>().is_ok());
        held.end(ENDS[1]).await;
    }
    world.lab.check_invariants().await;
}

/// T231: and looks again a second later.
pub(crate) async fn t231_a_look_passes_over_what_another_looks_at(lab: Lab) {
    let world = bounded(lab, 3).await;
    for end in ENDS.into_iter().rev() {
        let held = world.hold(look()).await;
        assert_eq!(held.answer, "1");
        assert_eq!(held.bystander(look()).await, "0");
        held.end(end).await;
        assert_eq!(world.call(look()).await, end.pick("0", "1"));
        world.lab.run("update jobkit.bounds set next_look = 'epoch'").await;
    }
    world.lab.check_invariants().await;
}

/// T232: from the first queue what it has, and what the other claim has left.
pub(crate) async fn t232_two_claims_of_shared_slots_take_no_more_than_each_has_room(lab: Lab) {
    let world = World::new(lab).await;
    for marked in [false, true] {
        for end in ENDS {
            let a = ready(&world, "a", 5).await;
            let b = ready(&world, "b", 5).await;
            let first = world.hold(claim(next_n(), &["a", "b"], 3, marked)).await;
            assert_eq!(first.answer, list(&a[..3]));
            let second = first.bystander(claim(next_n(), &["a", "b"], 3, marked)).await;
            assert_eq!(second, list(&[a[3], a[4], b[0]]));
            first.end(end).await;
            // Above the marks what was given up again is left to a scan from the start.
            let left = if marked { &b[1..4] } else { end.either(&b[1..4], &a[..3]) };
            assert_eq!(world.call(claim(next_n(), &["a", "b"], 3, marked)).await, list(left));
            world.clear().await;
        }
    }
    world.lab.check_invariants().await;
}

/// T233: T93 for queues that share slots: what the paused one cannot have goes to the others.
pub(crate) async fn t233_a_claim_of_shared_slots_behind_a_pause_takes_of_the_others(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for marked in [false, true] {
        for end in ENDS {
            let a = ready(&world, "a", 3).await;
            let b = ready(&world, "b", 3).await;
            let paused =
                world.hold("select jobkit.pause_limit('queue', 'a')::text".to_owned()).await;
            let claimed = paused.waiter(claim(next_n(), &["a", "b"], 2, marked)).await;
            paused.end(end).await;
            let taken = end.either(&b[..2], &a[..2]);
            assert_eq!(claimed.answer().await, Ok(list(taken)));
            world.call("select jobkit.resume_limit('queue', 'a')::text".to_owned()).await;
            world.clear().await;
        }
    }
    world.lab.check_invariants().await;
}

/// T234: who serves a queue by a pattern is one who serves it, for a grant and for an enqueue.
pub(crate) async fn t234_a_grant_reaches_who_serves_by_a_pattern(lab: Lab) {
    let world = World::new(lab).await;
    let register = "select jobkit.register(9, 'nine', '{mail,tenant-*}', '{act}', '1 s', '{1,1}',
        '{null,1}')::text";
    world.call(register.to_owned()).await;
    let serving = |queue: &str| {
        format!(
            "select coalesce(string_agg(s::text, ','), '') from jobkit.serving('{queue}', 'act') s"
        )
    };
    assert_eq!(world.call(serving("tenant-1")).await, "9");
    assert_eq!(world.call(serving("mail")).await, "9");
    assert_eq!(world.call(serving("tenant")).await, "");
}

/// T235: exactly, where enqueues come one after the other.
pub(crate) async fn t235_a_bound_holds_where_nobody_looks(lab: Lab) {
    let world = bounded(lab, 2).await;
    ready(&world, "default", 2).await;
    assert_eq!(world.refusal(enqueue("default")).await, "JK009");
    ready(&world, "other", 1).await;
    // A look long ago that found it full says nothing now.
    world.lab.run("update jobkit.bounds set full_since = 'epoch'").await;
    world.clear().await;
    ready(&world, "default", 1).await;
    world.lab.check_invariants().await;
}

/// Ready or blocked, it waits.
pub(crate) async fn what_waits_for_a_permit_counts_for_a_bound(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (_, [_]) = world.running_keyed(["a"]).await;
    let [_, _] = world.blocked(["a", "a"]).await;
    world.lab.run("select jobkit.set_limit('queue', 'default', null, '{\"waiting\": 3}')").await;
    world.call(enqueue("default")).await;
    assert_eq!(world.call("select jobkit.look_at_bounds('default')::text".to_owned()).await, "1");
    assert_eq!(world.refusal(enqueue("default")).await, "JK009");
    world.lab.check_invariants().await;
}
