//! Who is next: blocked jobs and candidates in one order, wherever the search for them begins, and
//! the rest of a backlog parked with them.

use jobkit_tests::Lab;

use super::calls::{
    Keyed, Scan, cancel_mark, cancel_take, claim, claim_where, limit_group, limit_key, promote,
    reap_claim, reschedule, settle, sweep,
};
use super::kit::{ENDS, End, World, list, next_n};

in_a_lab![
    t34_a_sweep_goes_past_a_thousand_busy_keys,
    an_older_blocked_job_goes_before_a_candidate,
    a_candidate_of_a_better_priority_goes_first,
    never_a_newer_candidate_of_the_same_claim,
    a_job_given_back_is_found_before_the_mark,
    a_reaped_job_is_found_before_the_mark,
    a_candidate_blocked_before_the_mark_is_found,
    a_job_parked_before_the_mark_is_found,
    a_mark_moves_to_what_is_there,
    a_backlog_behind_a_busy_key_is_parked_at_once,
    parking_shares_a_thousand_among_the_keys,
    parking_passes_over_rows_in_other_hands,
    parking_leaves_a_key_with_free_permits_alone,
    parking_leaves_the_holder_of_a_permit,
    parking_keeps_to_the_kinds_and_queues_of_the_claim,
    a_cancelled_blocked_job_moves_nobody,
    a_job_put_forward_asks_again,
];

const READY: &str = "ready with permit, charged 0";
const BLOCKED: &str = "blocked, charged 0";

fn urgent(key: &'static str) -> Keyed {
    Keyed { priority: -1, ..Keyed::from(key) }
}

/// Moves the beginning of the search for blocked jobs to the first there is, as a search does that
/// took long.
async fn skip_dead(world: &World, first: i64) {
    world.lab.run("select jobkit.skip_dead('{g}', '{a}')").await;
    assert_eq!(world.lab.value::<i64>("select from_id from jobkit.semaphores").await, first);
}

/// T34. The one key of a thousand that has a permit to give is on the last page.
pub(crate) async fn t34_a_sweep_goes_past_a_thousand_busy_keys(lab: Lab) {
    let world = World::limited(lab, 1).await;
    // A thousand keys with a job that runs and one that waits, and one key with two that wait.
    world
        .lab
        .run_unguarded(
            "with k as (
                select i, case when i > 1000 then 'z' else 'a' || lpad(i::text, 5, '0') end as key
                from generate_series(1, 1001) i
            ), j as (
                insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at,
                    created_at, concurrency_group, concurrency_key, args)
                select case when running then i else 10000 + i end, 'act', 'default', 0, 3, now(),
                    now(), 'g', key, '{}'
                from k, unnest(array[true, false]) as r (running)
                returning id, concurrency_group as grp, concurrency_key as key
            ), s as (
                insert into jobkit.semaphores (concurrency_group, concurrency_key, taken, crowded)
                select 'g', key, (i <= 1000)::integer, true from k
            ), p as (
                insert into jobkit.permits select id, grp, key from j where id <= 1000
            ), c as (
                insert into jobkit.claims (worker_id, n, job_ids, keyed)
                select 1, -1, array_agg(id), true from j where id <= 1000
            )
            insert into jobkit.blocked_executions
            select grp, key, 0, id, 'default', 'act' from j where id > 1000",
        )
        .await;
    let mut after = "'', ''".to_owned();
    for (found, last) in [("0", "'g', 'a00500'"), ("0", "'g', 'a01000'"), ("1", "")] {
        let page = format!(
            "select unblocked || coalesce(format(' %L, %L', last_group, last_key), '')
            from jobkit.sweep({after}, 500)"
        );
        let answer = world.call(page).await;
        // Without a next page the text is "0 NULL, NULL".
        let answer = answer.replace(" NULL, NULL", "");
        assert_eq!(answer, format!("{found} {last}").trim());
        last.clone_into(&mut after);
    }
    world.expect(1001, READY).await;
    world.expect_key("z", &[1001], &[11001]).await;
}

/// The blocked one is older; the candidate is blocked in its turn.
pub(crate) async fn an_older_blocked_job_goes_before_a_candidate(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (_, [w]) = world.running_keyed(["a"]).await;
    let [x] = world.blocked(["a"]).await;
    let [y] = world.keyed(["a"]).await;
    // Whoever raises the limit of a group gives nothing out: here the claim comes first.
    assert_eq!(world.call(limit_group("2")).await, "true");
    assert_eq!(world.call(claim(2, next_n(), 1)).await, "");
    world.expect(x, READY).await;
    world.expect(y, BLOCKED).await;
    world.expect_key("a", &[w, x], &[y]).await;
    // With one more permit than blocked jobs the candidate gets one, too.
    let [z] = world.keyed([urgent("a")]).await;
    assert_eq!(world.call(limit_group("4")).await, "true");
    assert_eq!(world.call(claim(2, next_n(), 1)).await, list(&[z]));
    world.expect(y, READY).await;
    world.expect_key("a", &[w, x, y, z], &[]).await;
}

/// By priority first, whoever waits longer.
pub(crate) async fn a_candidate_of_a_better_priority_goes_first(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (_, [w]) = world.running_keyed(["a"]).await;
    let [x] = world.blocked(["a"]).await;
    let [y] = world.keyed([urgent("a")]).await;
    assert_eq!(world.call(limit_group("2")).await, "true");
    let n = next_n();
    assert_eq!(world.call(claim(2, n, 1)).await, list(&[y]));
    world.expect_key("a", &[w, y], &[x]).await;
    assert_eq!(world.call(settle(2, n, y, "finish")).await, format!("{x} unblock"));
    world.expect_key("a", &[w, x], &[]).await;
}

/// Of the candidates of one claim, too, the older gets the permit.
pub(crate) async fn never_a_newer_candidate_of_the_same_claim(lab: Lab) {
    let world = World::limited(lab, 2).await;
    let [v, w, x] = world.keyed(["a", "a", "a"]).await;
    let n = next_n();
    assert_eq!(world.call(claim(1, n, 9)).await, list(&[v, w]));
    world.expect_key("a", &[v, w], &[x]).await;
    assert_eq!(world.call(settle(1, n, w, "finish")).await, format!("{x} unblock"));
    world.clear().await;
    let [v, w, x] = world.keyed(["a", "a", "a"]).await;
    let [y, z] = world.keyed([urgent("a"), urgent("a")]).await;
    let n = next_n();
    assert_eq!(world.call(claim(1, n, 9)).await, list(&[y, z]));
    world.expect_key("a", &[y, z], &[v, w, x]).await;
}

/// The search begins behind the job that is given back: blocking it moves the beginning.
pub(crate) async fn a_job_given_back_is_found_before_the_mark(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    skip_dead(&world, y).await;
    assert_eq!(world.call(settle(1, n, x, "release")).await, format!("{x} unblock"));
    world.expect_key("a", &[x], &[y]).await;
}

/// The same for one whose worker died.
pub(crate) async fn a_reaped_job_is_found_before_the_mark(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    skip_dead(&world, y).await;
    world.bury_worker(1).await;
    assert_eq!(world.call(reap_claim(1, n)).await, "1");
    world.expect(x, "ready with permit, charged 1").await;
    world.expect_key("a", &[x], &[y]).await;
}

/// A candidate of a better priority that gets no permit.
pub(crate) async fn a_candidate_blocked_before_the_mark_is_found(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.blocked(["a"]).await;
        skip_dead(&world, y).await;
        let [z] = world.keyed([urgent("a")]).await;
        let blocks = world.hold(claim(2, next_n(), 1)).await;
        assert_eq!(blocks.answer, "");
        let finish = blocks.waiter(settle(1, n, x, "finish")).await;
        blocks.end(end).await;
        let next = end.either(z, y);
        assert_eq!(finish.answer().await, Ok(format!("{next} unblock")));
        world.expect_key("a", &[next], end.either(&[y], &[])).await;
    }
}

/// The claim had no slot for the queue of the better one; it parked it with the others.
pub(crate) async fn a_job_parked_before_the_mark_is_found(lab: Lab) {
    let world = World::limited(lab, 1).await;
    world.register_for(3, "default,other", "act").await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    skip_dead(&world, y).await;
    let [candidate, parked] =
        world.keyed([Keyed::from("a"), Keyed { queue: "other", ..urgent("a") }]).await;
    let scan = Scan { queues: "default,other", slots: "1,0", ..Scan::default() };
    assert_eq!(world.call(claim_where(3, next_n(), &scan)).await, "");
    world.expect_key("a", &[x], &[parked, y, candidate]).await;
    assert_eq!(world.call(settle(1, n, x, "finish")).await, format!("{parked} unblock"));
    world.expect_key("a", &[parked], &[y, candidate]).await;
}

/// … and never beyond it; the sweep begins at the start.
pub(crate) async fn a_mark_moves_to_what_is_there(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [w]) = world.running_keyed(["a"]).await;
    let [x, y, z] = world.blocked(["a"; 3]).await;
    skip_dead(&world, x).await;
    assert_eq!(world.call(cancel_mark(x)).await, "true");
    assert_eq!(world.call(cancel_take(x)).await, "true");
    skip_dead(&world, y).await;
    // A mark that is wrong all the same is put right by the sweep.
    assert_eq!(world.call(limit_group("2")).await, "true");
    world.lab.run_unguarded(&format!("update jobkit.semaphores set from_id = {z}")).await;
    assert_eq!(world.call(sweep()).await, "1");
    world.expect_key("a", &[w, y], &[z]).await;
    assert_eq!(world.call(limit_group("null")).await, "true");
    assert_eq!(world.call(settle(1, n, w, "finish")).await, "");
    world.expect_key("a", &[y], &[z]).await;
}

/// One slot, one candidate, and the rest goes with it: the next claim finds other keys.
pub(crate) async fn a_backlog_behind_a_busy_key_is_parked_at_once(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let backlog = world.keyed(["a"; 50]).await;
    let [other] = world.keyed(["b"]).await;
    assert_eq!(world.call(claim(2, next_n(), 1)).await, "");
    world.expect_key("a", &[x], &backlog).await;
    assert_eq!(world.call(claim(2, next_n(), 1)).await, list(&[other]));
    assert_eq!(world.call(settle(1, n, x, "finish")).await, format!("{} unblock", backlog[0]));
    world.expect_key("a", &backlog[..1], &backlog[1..]).await;
}

/// A thousand a call: half of them for each of two keys.
pub(crate) async fn parking_shares_a_thousand_among_the_keys(lab: Lab) {
    let world = World::limited(lab, 1).await;
    world.running_keyed(["a", "b"]).await;
    let turns: [&str; 1100] = std::array::from_fn(|at| if at % 2 == 0 { "a" } else { "b" });
    world.keyed(turns).await;
    assert_eq!(world.call(claim(2, next_n(), 2)).await, "");
    for key in ["a", "b"] {
        let blocked = format!("jobkit.blocked_executions where concurrency_key = '{key}'");
        assert_eq!(world.lab.count(&blocked).await, 1 + 500);
    }
    assert_eq!(world.call(claim(2, next_n(), 2)).await, "");
    assert_eq!(world.lab.count("jobkit.ready").await, 0);
    world.lab.check_invariants().await;
}

/// A row that somebody else holds is neither waited for nor parked.
pub(crate) async fn parking_passes_over_rows_in_other_hands(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (_, [w]) = world.running_keyed(["a"]).await;
        let [x, y, z] = world.keyed(["a", "a", "a"]).await;
        let lock = format!("select kind from jobkit.ready where job_id = {y} for update");
        let holder = world.hold(lock).await;
        assert_eq!(holder.bystander(claim(2, next_n(), 1)).await, "");
        holder.end(end).await;
        world.expect(y, "ready, charged 0").await;
        world.expect_key("a", &[w], &[x, z]).await;
        assert_eq!(world.call(claim(2, next_n(), 1)).await, "");
        world.expect_key("a", &[w], &[x, y, z]).await;
    }
}

/// A job that is ready with its permit stays so, although it is younger than the candidate.
pub(crate) async fn parking_leaves_the_holder_of_a_permit(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let [old] = world.keyed([Keyed { delay: "1 hour", ..urgent("a") }]).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    let [z] = world.keyed(["a"]).await;
    assert_eq!(world.call(settle(1, n, x, "finish")).await, format!("{y} unblock"));
    world.an_hour_later().await;
    assert_eq!(world.call(promote(10)).await, "1");
    assert_eq!(world.call(claim(2, next_n(), 1)).await, "");
    world.expect(y, READY).await;
    world.expect_key("a", &[y], &[old, z]).await;
}

/// What another worker serves is left to it: it would not be served while blocked for this one.
pub(crate) async fn parking_keeps_to_the_kinds_and_queues_of_the_claim(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (_, [w]) = world.running_keyed(["a"]).await;
    let [x, other, gone] = world
        .keyed([
            Keyed::from("a"),
            Keyed { queue: "other", ..Keyed::from("a") },
            Keyed { kind: "gone", ..Keyed::from("a") },
        ])
        .await;
    assert_eq!(world.call(claim(2, next_n(), 1)).await, "");
    for job in [other, gone] {
        world.expect(job, "ready, charged 0").await;
    }
    world.expect_key("a", &[w], &[x]).await;
}

/// A blocked job held nothing: its end gives nobody anything, and its neighbours keep their order.
pub(crate) async fn a_cancelled_blocked_job_moves_nobody(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [w]) = world.running_keyed(["a"]).await;
        let [x, y, z] = world.blocked(["a", "a", "a"]).await;
        assert_eq!(world.call(cancel_mark(y)).await, "true");
        let cancel = world.hold(cancel_take(y)).await;
        cancel.end(end).await;
        let left = end.either(vec![x, z], vec![x, y, z]);
        world.expect_key("a", &[w], &left).await;
        assert_eq!(world.call(settle(1, n, w, "finish")).await, format!("{x} unblock"));
        world.expect_key("a", &[x], &left[1..]).await;
    }
}

/// Put forward, a blocked job is ready without a permit; beside the finish that was to unblock it,
/// too.
pub(crate) async fn a_job_put_forward_asks_again(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y, z] = world.blocked(["a", "a"]).await;
        let finish = world.hold(settle(1, n, x, "finish")).await;
        assert_eq!(finish.answer, format!("{y} unblock"));
        let forward = finish.waiter(reschedule(&[y], "'0 s'")).await;
        finish.end(end).await;
        assert_eq!(forward.answer().await, Ok(list(&[y])));
        world.expect(y, "ready, charged 0").await;
        world.expect_key("a", &[end.either(z, x)], end.either(&[], &[z])).await;
        if end == End::Commit {
            assert_eq!(world.call(limit_key("a", "2")).await, "true");
            assert_eq!(world.call(claim(2, next_n(), 5)).await, list(&[y, z]));
            world.expect_key("a", &[y, z], &[]).await;
        }
    }
}

/// A job that nobody serves got no permit although there is one: others of its key may get it.
pub(crate) async fn parking_leaves_a_key_with_free_permits_alone(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [v]) = world.running_keyed(["a"]).await;
    let [w] = world.blocked(["a"]).await;
    world.lab.run("update jobkit.workers set stopping = true").await;
    assert_eq!(world.call(settle(1, n, v, "finish")).await, "");
    world.register_for(3, "default", "spare").await;
    let [x, y] = world.keyed(["a".into(), Keyed { kind: "spare", ..Keyed::from("a") }]).await;
    assert_eq!(world.call(claim(1, next_n(), 1).replace("{act}", "{act,spare}")).await, "");
    world.expect(y, "ready, charged 0").await;
    world.expect_key("a", &[], &[w, x]).await;
    world.lab.check_invariants().await;
}
