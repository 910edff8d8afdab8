//! Jobs that fail for good, those who replay them, and those who remove them.

use jobkit_tests::Lab;

use super::calls::{
    Lettered, Scan, cancel_mark, cancel_take, claim_where, discard, discard_page, enqueue_lettered,
    replay, replay_page, settle, settle_all,
};
use super::kit::{ENDS, End, World, list, next_n};

in_a_lab![
    t40_the_second_replay_waits_and_is_told_of_the_first,
    t42_a_bulk_replay_passes_over_what_is_being_replayed,
    t43_two_bulk_replays_share_nothing,
    t45_a_purge_passes_over_what_is_being_replayed,
    t45_a_replay_behind_a_purge_finds_nothing,
    t46_a_replay_behind_a_discard_finds_nothing,
    t50_two_failures_of_a_key_make_one_dead_letter,
    t51_a_failure_behind_a_success_keeps_the_history,
    t51_a_success_behind_a_failure_resolves_nothing,
    t52_ten_failed_replays_are_ten_cycles_of_one_dead_letter,
    t58_a_key_is_one_for_each_kind,
    t60_a_second_report_of_a_failure_counts_for_nothing,
    t61_a_replay_that_fails_keeps_the_identity_of_its_dead_letter,
    t124_a_replay_behind_the_success_of_the_first_is_refused,
    a_replay_that_is_cancelled_leaves_the_dead_letter_open,
    an_old_replay_resolves_nothing,
    a_replay_of_what_was_purged_resolves_nothing,
    a_purge_spares_what_failed_again,
    a_bulk_replay_spares_what_failed_after_it_began,
    a_prune_spares_what_failed_again,
    two_of_a_key_in_one_batch_are_two_cycles,
    batches_that_bury_the_same_keys_in_opposite_order_do_not_deadlock,
    a_resolve_and_a_bury_in_opposite_order_do_not_deadlock,
];

/// The dead letter of a job.
pub(super) async fn letter_of(world: &World, job: i64) -> i64 {
    world.lab.value(&format!("select id from jobkit.dead_letters where job_id = {job}")).await
}

/// Its state: "open, 2 cycles, generation 2, last job 7".
pub(super) async fn expect_letter(world: &World, letter: i64, state: &str) {
    let sql = format!(
        "select coalesce((select format('%s, %s cycles, generation %s, last job %s', state, cycles,
            generation, job_id) from jobkit.dead_letters where id = {letter}), 'gone')"
    );
    assert_eq!(world.lab.value::<String>(&sql).await, state, "dead letter {letter}");
    world.lab.check_invariants().await;
}

/// Jobs with these dead-letter keys, claimed by worker 1.
pub(super) async fn failing<const N: usize>(
    world: &World,
    keys: [impl Into<Lettered>; N],
) -> (i64, [i64; N]) {
    let jobs = world.call(enqueue_lettered(&keys.map(Into::into))).await;
    let jobs: Vec<i64> = jobs.split(' ').map(|id| id.parse().unwrap()).collect();
    (world.claim(1, &jobs).await, jobs.try_into().unwrap())
}

/// A dead letter with this key, and the job that became it.
pub(super) async fn dead(world: &World, key: &'static str) -> (i64, i64) {
    let (n, [job]) = failing(world, [key]).await;
    assert_eq!(world.call(settle(1, n, job, "bury")).await, "");
    (letter_of(world, job).await, job)
}

/// Replays a dead letter and claims the job; returns the claim's number, too.
pub(super) async fn replaying(world: &World, letter: i64) -> (i64, i64) {
    let answer = world.call(replay(letter)).await;
    let job = answer.strip_prefix("replay ").expect(&answer).parse().unwrap();
    (world.claim(2, &[job]).await, job)
}

pub(super) async fn clear(world: &World) {
    world.lab.run("delete from jobkit.dead_letters").await;
    world.clear().await;
}

/// T40, T41, T47, T84. A key makes no difference.
pub(crate) async fn t40_the_second_replay_waits_and_is_told_of_the_first(lab: Lab) {
    let world = World::new(lab).await;
    for (end, key) in ENDS.into_iter().flat_map(|end| [(end, "k"), (end, "")]) {
        clear(&world).await;
        let (letter, job) = dead(&world, key).await;
        let first = world.hold(replay(letter)).await;
        let new = first.answer.strip_prefix("replay ").unwrap().to_owned();
        let second = first.waiter(replay(letter)).await;
        first.end(end).await;
        let answer = second.answer().await.unwrap();
        match end {
            End::Commit => assert_eq!(answer, format!("already {new}")),
            End::Rollback => assert!(answer.starts_with("replay "), "{answer}"),
        }
        assert_eq!(world.lab.count("jobkit.jobs").await, 1);
        let state = format!("replaying, 1 cycles, generation 1, last job {job}");
        expect_letter(&world, letter, &state).await;
    }
}

pub(crate) async fn t42_a_bulk_replay_passes_over_what_is_being_replayed(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let [(x, _), _, _] =
            [dead(&world, "x").await, dead(&world, "y").await, dead(&world, "").await];
        let first = world.hold(replay(x)).await;
        assert_eq!(first.bystander(replay_page(100)).await, "2 replayed, 1 skipped");
        first.end(end).await;
        assert_eq!(world.lab.count("jobkit.jobs").await, end.either(3, 2));
        world.lab.check_invariants().await;
    }
}

/// T43. In the order in which they failed, too.
pub(crate) async fn t43_two_bulk_replays_share_nothing(lab: Lab) {
    let world = World::new(lab).await;
    let (n, jobs) = failing(&world, [""; 20]).await;
    let outcomes = jobs.map(|job| (job, "bury"));
    assert_eq!(world.call(settle_all(1, n, &outcomes)).await, "");
    let first = world.hold(replay_page(8)).await;
    assert_eq!(first.answer, "8 replayed, 0 skipped");
    assert_eq!(first.bystander(replay_page(20)).await, "12 replayed, 8 skipped");
    first.end(End::Commit).await;
    let twice = "(select dead_letter_id from jobkit.jobs group by 1 having count(*) > 1) t";
    assert_eq!(world.lab.count(twice).await, 0);
    assert_eq!(world.lab.count("jobkit.jobs").await, 20);
    let order = "select string_agg(d.job_id::text, ' ' order by d.replay_id)
        from jobkit.dead_letters d where d.replay_id <= (select min(replay_id) + 7
        from jobkit.dead_letters)";
    assert_eq!(world.lab.value::<String>(order).await, list(&jobs[..8]));
    world.lab.check_invariants().await;
}

pub(crate) async fn t45_a_purge_passes_over_what_is_being_replayed(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let (letter, job) = dead(&world, "k").await;
        let first = world.hold(replay(letter)).await;
        assert_eq!(first.bystander(discard_page("open")).await, "0 discarded, 1 skipped");
        first.end(end).await;
        let state = end.pick("replaying", "open");
        let state = format!("{state}, 1 cycles, generation 1, last job {job}");
        expect_letter(&world, letter, &state).await;
        let left = end.pick("0 discarded, 0 skipped", "1 discarded, 0 skipped");
        assert_eq!(world.call(discard_page("open")).await, left);
    }
}

pub(crate) async fn t45_a_replay_behind_a_purge_finds_nothing(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let (letter, _) = dead(&world, "k").await;
        let purge = world.hold(discard_page("open")).await;
        let late = purge.waiter(replay(letter)).await;
        purge.end(end).await;
        let answer = late.answer().await.unwrap();
        assert!(answer.starts_with(end.pick("missing", "replay ")), "{answer}");
        assert_eq!(world.lab.count("jobkit.jobs").await, end.either(0, 1));
        world.lab.check_invariants().await;
    }
}

/// T46. And the other way round: what is being replayed is not discarded.
pub(crate) async fn t46_a_replay_behind_a_discard_finds_nothing(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let (letter, _) = dead(&world, "k").await;
        let first = world.hold(discard(letter)).await;
        let late = first.waiter(replay(letter)).await;
        first.end(end).await;
        let answer = late.answer().await.unwrap();
        assert!(answer.starts_with(end.pick("missing", "replay ")), "{answer}");

        clear(&world).await;
        let (letter, _) = dead(&world, "k").await;
        let first = world.hold(replay(letter)).await;
        let late = first.waiter(discard(letter)).await;
        first.end(end).await;
        assert_eq!(late.answer().await.unwrap(), end.pick("replaying", "discard"));
        world.lab.check_invariants().await;
    }
}

/// T50. The later one's payload stays.
pub(crate) async fn t50_two_failures_of_a_key_make_one_dead_letter(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let (n, [x]) = failing(&world, [Lettered { payload: 1, ..Lettered::from("k") }]).await;
        let (m, [y]) = failing(&world, [Lettered { payload: 2, ..Lettered::from("k") }]).await;
        let first = world.hold(settle(1, n, x, "bury")).await;
        let second = first.waiter(settle(1, m, y, "bury")).await;
        first.end(end).await;
        assert_eq!(second.answer().await, Ok(String::new()));
        let letter = letter_of(&world, y).await;
        let cycles = end.either(2, 1);
        let state = format!("open, {cycles} cycles, generation {cycles}, last job {y}");
        expect_letter(&world, letter, &state).await;
        let row = "select format('%s: %s, %s attempts, %s errors', count(*), max(args::text),
            max(attempts), max(jsonb_array_length(errors))) from jobkit.dead_letters";
        let expected = format!("1: 2, {cycles} attempts, {cycles} errors");
        assert_eq!(world.lab.value::<String>(row).await, expected);
    }
}

pub(crate) async fn t51_a_failure_behind_a_success_keeps_the_history(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let (letter, _) = dead(&world, "k").await;
        let (n, x) = replaying(&world, letter).await;
        let (m, [y]) = failing(&world, ["k"]).await;
        let success = world.hold(settle(2, n, x, "finish")).await;
        let failure = success.waiter(settle(1, m, y, "bury")).await;
        success.end(end).await;
        assert_eq!(failure.answer().await, Ok(String::new()));
        let state = format!("open, 2 cycles, generation 2, last job {y}");
        expect_letter(&world, letter, &state).await;
    }
}

/// T51. The failure is newer than what the replay replayed.
pub(crate) async fn t51_a_success_behind_a_failure_resolves_nothing(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let (letter, job) = dead(&world, "k").await;
        let (n, x) = replaying(&world, letter).await;
        let (m, [y]) = failing(&world, ["k"]).await;
        let failure = world.hold(settle(1, m, y, "bury")).await;
        let success = failure.waiter(settle(2, n, x, "finish")).await;
        failure.end(end).await;
        assert_eq!(success.answer().await, Ok(String::new()));
        let state = match end {
            End::Commit => format!("open, 2 cycles, generation 2, last job {y}"),
            End::Rollback => format!("resolved, 1 cycles, generation 1, last job {job}"),
        };
        expect_letter(&world, letter, &state).await;
        world.expect(x, "finish").await;
    }
}

/// T52. With ten cycles allowed, the tenth waits for a human.
pub(crate) async fn t52_ten_failed_replays_are_ten_cycles_of_one_dead_letter(lab: Lab) {
    let world = World::new(lab).await;
    world.lab.run("update jobkit.kinds set auto_replay = '10 min', max_cycles = 10").await;
    for key in ["k", ""] {
        clear(&world).await;
        let (letter, mut job) = dead(&world, key).await;
        for cycle in 2..=10 {
            let waits = "select replay_at = failed_at + interval '10 min' from jobkit.dead_letters";
            assert!(world.lab.value::<bool>(waits).await);
            let (n, replay) = replaying(&world, letter).await;
            assert_eq!(world.call(settle(2, n, replay, "bury")).await, "");
            job = replay;
            let state = format!("open, {cycle} cycles, generation {cycle}, last job {job}");
            expect_letter(&world, letter, &state).await;
        }
        assert_eq!(world.lab.count("jobkit.dead_letters where replay_at is null").await, 1);
        assert_eq!(world.failures(job).await, ["bury"; 10].join(" "));
    }
}

pub(crate) async fn t58_a_key_is_one_for_each_kind(lab: Lab) {
    let world = World::new(lab).await;
    let (n, [x]) = failing(&world, ["k"]).await;
    let other = Lettered { kind: "other", ..Lettered::from("k") };
    let y: i64 = world.call(enqueue_lettered(&[other])).await.parse().unwrap();
    let scan = Scan { kinds: "other", ..Scan::default() };
    let m = next_n();
    let claimed = world.call(claim_where(2, m, &scan)).await;
    assert_eq!(claimed, y.to_string());
    assert_eq!(world.call(settle(1, n, x, "bury")).await, "");
    assert_eq!(world.call(settle(2, m, y, "bury")).await, "");
    assert_eq!(world.lab.count("jobkit.dead_letters where cycles = 1").await, 2);
}

/// T60, T118. Whatever the second one says.
pub(crate) async fn t60_a_second_report_of_a_failure_counts_for_nothing(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let (n, [job]) = failing(&world, ["k"]).await;
        let first = world.hold(settle(1, n, job, "bury")).await;
        let second = first.waiter(settle(1, n, job, "bury")).await;
        first.end(end).await;
        let lost = format!("{job} lost");
        assert_eq!(second.answer().await.unwrap(), end.either(lost, String::new()));
        let letter = letter_of(&world, job).await;
        let state = format!("open, 1 cycles, generation 1, last job {job}");
        expect_letter(&world, letter, &state).await;
        assert_eq!(world.failures(job).await, "bury");
    }
}

pub(crate) async fn t61_a_replay_that_fails_keeps_the_identity_of_its_dead_letter(lab: Lab) {
    let world = World::new(lab).await;
    for key in ["k", ""] {
        clear(&world).await;
        let (letter, first) = dead(&world, key).await;
        let (n, second) = replaying(&world, letter).await;
        assert_eq!(world.call(settle(2, n, second, "bury")).await, "");
        let state = format!("open, 2 cycles, generation 2, last job {second}");
        expect_letter(&world, letter, &state).await;
        let jobs = "select string_agg(e->>'job_id', ' ') from jobkit.dead_letters d,
            jsonb_array_elements(d.errors) e";
        assert_eq!(world.lab.value::<String>(jobs).await, list(&[first, second]));
    }
}

pub(crate) async fn t124_a_replay_behind_the_success_of_the_first_is_refused(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let (letter, _) = dead(&world, "k").await;
        let (n, job) = replaying(&world, letter).await;
        let success = world.hold(settle(2, n, job, "finish")).await;
        let late = success.waiter(replay(letter)).await;
        success.end(end).await;
        let answer = format!("{} {job}", end.pick("resolved", "already"));
        assert_eq!(late.answer().await, Ok(answer));
        assert_eq!(world.lab.count("jobkit.jobs").await, end.either(0, 1));
        world.lab.check_invariants().await;
    }
}

/// Cancelled while it waits or while it runs, or discarded by its handler.
pub(crate) async fn a_replay_that_is_cancelled_leaves_the_dead_letter_open(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["waiting", "cancel", "discard"] {
        clear(&world).await;
        let (letter, job) = dead(&world, "k").await;
        if outcome == "waiting" {
            let answer = world.call(replay(letter)).await;
            let new = answer.strip_prefix("replay ").unwrap().parse().unwrap();
            assert_eq!(world.call(cancel_mark(new)).await, "true");
            assert_eq!(world.call(cancel_take(new)).await, "true");
        } else {
            let (n, new) = replaying(&world, letter).await;
            assert_eq!(world.call(settle(2, n, new, outcome)).await, "");
        }
        let state = format!("open, 1 cycles, generation 2, last job {job}");
        expect_letter(&world, letter, &state).await;
    }
}

/// Neither its success nor its end otherwise: another replay runs by then.
pub(crate) async fn an_old_replay_resolves_nothing(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["finish", "discard"] {
        clear(&world).await;
        let (letter, _) = dead(&world, "k").await;
        let (n, old) = replaying(&world, letter).await;
        let (m, [job]) = failing(&world, ["k"]).await;
        assert_eq!(world.call(settle(1, m, job, "bury")).await, "");
        let (_, _new) = replaying(&world, letter).await;
        assert_eq!(world.call(settle(2, n, old, outcome)).await, "");
        let state = format!("replaying, 2 cycles, generation 2, last job {job}");
        expect_letter(&world, letter, &state).await;
    }
}

/// Nor what came after it under the same key, in the same generation again.
pub(crate) async fn a_replay_of_what_was_purged_resolves_nothing(lab: Lab) {
    let world = World::new(lab).await;
    let (letter, _) = dead(&world, "k").await;
    let (n, first) = replaying(&world, letter).await;
    assert_eq!(dead(&world, "k").await.0, letter);
    let (m, second) = replaying(&world, letter).await;
    assert_eq!(dead(&world, "k").await.0, letter);
    assert_eq!(world.call(discard(letter)).await, "discard");

    assert_eq!(world.call(settle(2, n, first, "bury")).await, "");
    let next = letter_of(&world, first).await;
    let (_, _third) = replaying(&world, next).await;
    let (_, last) = dead(&world, "k").await;
    let (_, _fourth) = replaying(&world, next).await;
    assert_eq!(world.call(settle(2, m, second, "finish")).await, "");
    let state = format!("replaying, 2 cycles, generation 2, last job {last}");
    expect_letter(&world, next, &state).await;
}

/// What is read before the lock is not what counts.
pub(crate) async fn a_purge_spares_what_failed_again(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let (letter, job) = dead(&world, "k").await;
        let (n, [again]) = failing(&world, ["k"]).await;
        let failure = world.hold(settle(1, n, again, "bury")).await;
        assert_eq!(failure.bystander(discard_page("open")).await, "0 discarded, 1 skipped");
        failure.end(end).await;
        let state = match end {
            End::Commit => format!("open, 2 cycles, generation 2, last job {again}"),
            End::Rollback => format!("open, 1 cycles, generation 1, last job {job}"),
        };
        expect_letter(&world, letter, &state).await;
    }
}

/// It has read its page, and has not locked it yet.
pub(crate) async fn a_bulk_replay_spares_what_failed_after_it_began(lab: Lab) {
    let world = World::new(lab).await;
    let between = world.hold_before("operate_dead_letters", "v_left := array(").await;
    let (letter, _) = dead(&world, "k").await;
    let until: String = world.lab.value("select clock_timestamp()::text").await;
    let begin = format!(
        "insert into jobkit.operations (verb, filter, idempotency_key, up_to, until)
        values ('replay', '{{\"state\": \"open\"}}', 'once', 0, '{until}')"
    );
    world.lab.run(&begin).await;
    let page = "select jobkit.operate_dead_letters(o, 10)::text from jobkit.operations o";
    let replaying = between.waiter(page.to_owned()).await;
    let (_, again) = dead(&world, "k").await;
    between.end(End::Commit).await;
    assert_eq!(replaying.answer().await.as_deref(), Ok("true"), "it was the last page");
    let state = format!("open, 2 cycles, generation 2, last job {again}");
    expect_letter(&world, letter, &state).await;
}

pub(crate) async fn a_prune_spares_what_failed_again(lab: Lab) {
    let world = World::new(lab).await;
    let prune = || "select jobkit.prune_resolved('1 hour', 100)::text".to_owned();
    for end in ENDS {
        clear(&world).await;
        let (letter, job) = dead(&world, "k").await;
        let (n, replay) = replaying(&world, letter).await;
        assert_eq!(world.call(settle(2, n, replay, "finish")).await, "");
        assert_eq!(world.call(prune()).await, "0");
        let old = "update jobkit.dead_letters set resolved_at = resolved_at - interval '2 h'";
        world.lab.run(old).await;
        let (m, [again]) = failing(&world, ["k"]).await;
        let failure = world.hold(settle(1, m, again, "bury")).await;
        assert_eq!(failure.bystander(prune()).await, "0");
        failure.end(end).await;
        assert_eq!(world.call(prune()).await, end.pick("0", "1"));
        let state = match end {
            End::Commit => format!("open, 2 cycles, generation 2, last job {again}"),
            End::Rollback => "gone".to_owned(),
        };
        expect_letter(&world, letter, &state).await;
        assert!(job < again);
    }
}

pub(crate) async fn two_of_a_key_in_one_batch_are_two_cycles(lab: Lab) {
    let world = World::new(lab).await;
    let (n, [x, y]) = failing(&world, ["k", "k"]).await;
    assert_eq!(world.call(settle_all(1, n, &[(y, "bury"), (x, "bury")])).await, "");
    let letter = letter_of(&world, y).await;
    let state = format!("open, 2 cycles, generation 2, last job {y}");
    expect_letter(&world, letter, &state).await;
}

/// Two entries are there; somebody holds the first, and both batches wait for it.
pub(crate) async fn batches_that_bury_the_same_keys_in_opposite_order_do_not_deadlock(lab: Lab) {
    let world = World::new(lab).await;
    let [(a, _), (b, _)] = [dead(&world, "a").await, dead(&world, "b").await];
    let (n, [x, y]) = failing(&world, ["a", "b"]).await;
    let (m, [z, w]) = failing(&world, ["b", "a"]).await;
    let lock = format!("select id::text from jobkit.dead_letters where id = {a} for update");
    let holder = world.hold(lock).await;
    let first = holder.waiter(settle_all(1, n, &[(x, "bury"), (y, "bury")])).await;
    let second = first.waiter(settle_all(1, m, &[(z, "bury"), (w, "bury")])).await;
    holder.end(End::Rollback).await;
    assert_eq!(first.answer().await, Ok(String::new()));
    assert_eq!(second.answer().await, Ok(String::new()));
    expect_letter(&world, a, &format!("open, 3 cycles, generation 3, last job {w}")).await;
    expect_letter(&world, b, &format!("open, 3 cycles, generation 3, last job {z}")).await;
}

pub(crate) async fn a_resolve_and_a_bury_in_opposite_order_do_not_deadlock(lab: Lab) {
    let world = World::new(lab).await;
    let [(_, _), (b, _)] = [dead(&world, "a").await, dead(&world, "b").await];
    let new = world.call(replay(b)).await;
    let r: i64 = new.strip_prefix("replay ").unwrap().parse().unwrap();
    let x: i64 = world.call(enqueue_lettered(&["a".into()])).await.parse().unwrap();
    let n = world.claim(2, &[r, x]).await;
    let (m, [y, z]) = failing(&world, ["a", "b"]).await;
    // It is being replayed: the call holds its row and leaves it alone.
    let holder = world.hold(discard(b)).await;
    assert_eq!(holder.answer, "replaying");
    let first = holder.waiter(settle_all(2, n, &[(r, "finish"), (x, "bury")])).await;
    let second = first.waiter(settle_all(1, m, &[(y, "bury"), (z, "bury")])).await;
    holder.end(End::Commit).await;
    assert_eq!(first.answer().await, Ok(String::new()));
    assert_eq!(second.answer().await, Ok(String::new()));
    expect_letter(&world, b, &format!("open, 2 cycles, generation 2, last job {z}")).await;
}
