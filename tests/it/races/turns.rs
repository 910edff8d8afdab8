//! Kinds that are paused, and limits and rates of queues and kinds.

use jobkit_tests::Lab;

use super::calls::{
    Begin, Keyed, Scan, claim, claim_ahead, claim_where, pause, resume, settle, settle_and_claim,
    sweep,
};
use super::kit::{ENDS, End, World, list, next_n};
use super::pause::{BLOCKED, READY, block, gone, other, wide};
use crate::clock::step_back;

in_a_lab![
    t93_a_pause_of_a_kind_waits_for_claims_in_flight,
    t93_a_claim_behind_a_pause_of_a_kind_takes_none_of_it,
    t93_a_claim_behind_a_pause_of_everything_takes_nothing,
    t128_claims_under_a_limit_take_turns,
    t128_a_limit_waits_for_claims_in_flight,
    t128_a_claim_behind_a_limit_keeps_it,
    t129_claims_under_a_rate_take_turns,
    t172_what_a_sweep_finds_after_a_resume_is_explained,
    a_pause_of_a_kind_gives_its_permits_to_others,
    a_kind_is_paused_in_every_version,
    a_limit_of_a_queue_counts_what_others_run,
    a_limit_of_a_kind_leaves_the_slots_to_others,
    a_limit_counts_what_is_claimed_ahead,
    a_rate_lets_a_burst_through_and_no_more,
    under_a_rate_nothing_is_claimed_ahead,
    what_is_denied_a_permit_costs_no_rate,
    what_has_a_limit_is_begun_by_a_claim_only,
    what_is_not_limited_has_no_turn,
    t270_a_rate_waits_for_claims_in_flight,
    t271_a_resume_of_a_kind_waits_for_who_saw_the_pause,
    a_rate_goes_on_after_a_step_of_the_clock,
];

pub(crate) fn pause_scope(scope: &str, name: &str) -> String {
    let said = "null, null, 'somebody', 'for a while'";
    format!("select jobkit.pause_limit('{scope}', '{name}', {said})::text")
}

pub(crate) fn resume_scope(scope: &str, name: &str) -> String {
    format!("select jobkit.resume_limit('{scope}', '{name}', null, 'somebody')::text")
}

fn set_limit(scope: &str, name: &str, rule: &str) -> String {
    format!("select jobkit.set_limit('{scope}', '{name}', null, '{rule}')::text")
}

/// The limit of a queue or of a kind, or `null`; answers whether it is another one now.
pub(crate) fn limit_running(scope: &str, name: &str, limit: &str) -> String {
    set_limit(scope, name, &format!(r#"{{"running": {limit}}}"#))
}

/// So many an hour, and at a time.
fn limit_rate(scope: &str, name: &str, count: i32, burst: i32) -> String {
    let every = 3600 / count;
    let rate = format!(r#"{{"rate": {{"every": "{every} s", "burst": {burst}}}}}"#);
    set_limit(scope, name, &rate)
}

/// No operator ever said anything.
const UNSAID: &str = "delete from jobkit.limits where scope <> 'group'; delete from jobkit.turns";

/// A world where worker 3 serves two queues and knows both kinds, and calls are patient.
async fn patient(lab: Lab) -> World {
    let world = World::limited(lab, 1).await;
    world.register_for(3, "default,other", "act,gone").await;
    for function in ["pause_limit", "resume_limit", "set_limit"] {
        let patience = "set lock_timeout = '1min'";
        world.lab.run(&format!("alter function jobkit.{function} {patience}")).await;
    }
    world
}

/// Jobs without a key.
async fn plain(world: &World, queue: &str, kind: &str, jobs: i64) -> Vec<i64> {
    let sql = format!(
        "select string_agg(jobkit.enqueue('{kind}', '{{}}', '{queue}')::text, ' ')
        from generate_series(1, {jobs})"
    );
    world
        .lab
        .run(
            "insert into jobkit.kinds (kind, queue, priority, max_attempts, retention)
        values ('gone', 'default', 0, 3, '1 hour') on conflict do nothing",
        )
        .await;
    world.call(sql).await.split(' ').map(|id| id.parse().unwrap()).collect()
}

/// Worker 3 claims from both queues.
fn claim_all(slots: &str, from: Begin) -> String {
    let scan = Scan { queues: "default,other", slots, kinds: "act,gone", from };
    claim_where(3, next_n(), &scan)
}

/// T93. As for a queue: what a claim took before the pause was there, runs.
pub(crate) async fn t93_a_pause_of_a_kind_waits_for_claims_in_flight(lab: Lab) {
    let world = patient(lab).await;
    for (scope, name) in [("kind", "act"), ("all", "")] {
        for end in ENDS {
            let [x] = world.ready().await;
            let n = next_n();
            let claimed = world.hold(claim(1, n, 1)).await;
            assert_eq!(claimed.answer, list(&[x]));
            let paused = claimed.waiter(pause_scope(scope, name)).await;
            claimed.end(end).await;
            assert_eq!(paused.answer().await.as_deref(), Ok("true"));
            let running = format!("running 1/{n}, charged 0");
            world.expect(x, end.pick(&running, "ready, charged 0")).await;
            assert_eq!(world.call(claim(1, next_n(), 1)).await, "");
            assert_eq!(world.call(resume_scope(scope, name)).await, "true");
            world.clear().await;
        }
    }
    world.lab.check_invariants().await;
}

/// T93. The other way round; other kinds are taken.
pub(crate) async fn t93_a_claim_behind_a_pause_of_a_kind_takes_none_of_it(lab: Lab) {
    let world = patient(lab).await;
    for from in [Begin::Start, Begin::Marks, Begin::NoMarks] {
        for end in ENDS {
            let paused_kind = plain(&world, "default", "gone", 2).await;
            let others = plain(&world, "other", "act", 1).await;
            let paused = world.hold(pause_scope("kind", "gone")).await;
            let claimed = paused.waiter(claim_all("5,5", from)).await;
            paused.end(end).await;
            let all = [paused_kind, others.clone()].concat();
            assert_eq!(claimed.answer().await, Ok(list(end.either(&others[..], &all))));
            world.call(resume_scope("kind", "gone")).await;
            world.clear().await;
        }
    }
}

/// T93. Of everything.
pub(crate) async fn t93_a_claim_behind_a_pause_of_everything_takes_nothing(lab: Lab) {
    let world = patient(lab).await;
    for end in ENDS {
        let all = plain(&world, "other", "act", 2).await;
        let paused = world.hold(pause_scope("all", "")).await;
        let claimed = paused.waiter(claim_all("5,5", Begin::Start)).await;
        paused.end(end).await;
        assert_eq!(claimed.answer().await, Ok(list(end.either(&[], &all[..]))));
        world.call(resume_scope("all", "")).await;
        world.clear().await;
    }
}

/// Three jobs may begin, and two claims ask for two each: the second waits for the first, and takes
/// what that left. Returns the last two of four jobs.
async fn second_takes_what_is_left(world: &World, end: End, scope: &str) -> [i64; 2] {
    let [a, b, c, d] = world.ready().await;
    let first = world.hold(claim(1, next_n(), 2)).await;
    assert_eq!(first.answer, list(&[a, b]));
    let second = first.waiter(claim(2, next_n(), 2)).await;
    first.end(end).await;
    let taken = end.either(vec![c], vec![a, b]);
    assert_eq!(second.answer().await, Ok(list(&taken)), "{scope}");
    [c, d]
}

/// T128. The second counts what the first took.
pub(crate) async fn t128_claims_under_a_limit_take_turns(lab: Lab) {
    let world = patient(lab).await;
    for (scope, name) in [("queue", "default"), ("kind", "act")] {
        world.call(limit_running(scope, name, "3")).await;
        for end in ENDS {
            let [c, d] = second_takes_what_is_left(&world, end, scope).await;
            let left = end.either(vec![], vec![c]);
            assert_eq!(world.call(claim(2, next_n(), 2)).await, list(&left));
            world.expect(d, "ready, charged 0").await;
            world.clear().await;
        }
        world.call(limit_running(scope, name, "null")).await;
    }
}

/// T128. A claim that looked before the limit was there commits before it.
pub(crate) async fn t128_a_limit_waits_for_claims_in_flight(lab: Lab) {
    let world = patient(lab).await;
    for end in ENDS {
        let [a, b, c] = world.ready().await;
        let claimed = world.hold(claim(1, next_n(), 2)).await;
        let limit = claimed.waiter(limit_running("queue", "default", "2")).await;
        claimed.end(end).await;
        assert_eq!(limit.answer().await.as_deref(), Ok("true"));
        let left = end.either(vec![], vec![a, b]);
        assert_eq!(world.call(claim(2, next_n(), 9)).await, list(&left));
        world.expect(c, "ready, charged 0").await;
        world.call(limit_running("queue", "default", "null")).await;
        world.clear().await;
    }
}

/// T128. The other way round.
pub(crate) async fn t128_a_claim_behind_a_limit_keeps_it(lab: Lab) {
    let world = patient(lab).await;
    for end in ENDS {
        let [a, b] = world.ready().await;
        let limit = world.hold(limit_running("kind", "act", "1")).await;
        let claimed = limit.waiter(claim(1, next_n(), 9)).await;
        limit.end(end).await;
        assert_eq!(claimed.answer().await, Ok(list(end.either(&[a][..], &[a, b]))));
        world.call(limit_running("kind", "act", "null")).await;
        world.clear().await;
    }
}

/// T129. The second has what the first left of the burst.
pub(crate) async fn t129_claims_under_a_rate_take_turns(lab: Lab) {
    let world = patient(lab).await;
    for (scope, name) in [("queue", "default"), ("kind", "act")] {
        for end in ENDS {
            world.call(limit_rate(scope, name, 10, 3)).await;
            let [_, d] = second_takes_what_is_left(&world, end, scope).await;
            world.expect(d, "ready, charged 0").await;
            world.lab.run(UNSAID).await;
            world.clear().await;
        }
    }
}

/// As a pause of a queue does, for those of other kinds; a finish gives it none.
pub(crate) async fn a_pause_of_a_kind_gives_its_permits_to_others(lab: Lab) {
    let world = wide(lab, 1).await;
    for (scope, name) in [("kind", "gone"), ("all", "")] {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let y = block(&world, gone("a")).await;
        let z = block(&world, Keyed::from("a")).await;
        assert_eq!(world.call(settle(1, n, x, "finish")).await, format!("{y} unblock"));
        assert_eq!(world.call(pause_scope(scope, name)).await, "true");
        world.expect(y, BLOCKED).await;
        if scope == "kind" {
            world.expect_key("a", &[z], &[y]).await;
            let n = world.claim(1, &[z]).await;
            assert_eq!(world.call(settle(1, n, z, "finish")).await, "");
        }
        assert_eq!(world.call(resume_scope(scope, name)).await, "true");
        assert_eq!(world.call(sweep()).await, "1");
        world.expect(y, READY).await;
        assert_eq!(world.call(resume_scope(scope, name)).await, "false");
    }
    // As for the queue.
    assert_eq!(world.call(pause_scope("queue", "other")).await, "true");
    assert_eq!(world.call(pause("other")).await, "false");
    assert_eq!(world.call(resume_scope("queue", "other")).await, "true");
    assert_eq!(world.call(resume("other")).await, "false");
    let x = world.keyed([other("b")]).await;
    assert_eq!(world.call(claim_all("0,5", Begin::Start)).await, list(&x));
}

pub(crate) async fn a_kind_is_paused_in_every_version(lab: Lab) {
    let world = patient(lab).await;
    world.register_for(5, "default", "act,act@2,gone").await;
    let all = Scan { kinds: "act,act@2,gone", ..Scan::default() };
    plain(&world, "default", "act", 1).await;
    let sql = "select jobkit.enqueue('act', '{}', p_version => 2)::text";
    world.call(sql.to_owned()).await;
    let gone = plain(&world, "default", "gone", 1).await;
    world.call(pause_scope("kind", "act")).await;
    assert_eq!(world.call(claim_where(5, next_n(), &all)).await, list(&gone));
    world.call(limit_running("kind", "act", "1")).await;
    world.call(resume_scope("kind", "act")).await;
    assert_eq!(world.call(claim_where(5, next_n(), &all)).await.split(' ').count(), 1);
    assert_eq!(world.call(claim_where(5, next_n(), &all)).await, "");
}

/// Whoever runs them, until they have ended or were taken back.
pub(crate) async fn a_limit_of_a_queue_counts_what_others_run(lab: Lab) {
    let world = patient(lab).await;
    world.call(limit_running("queue", "default", "2")).await;
    let [a, b, c] = world.ready().await;
    let elsewhere = plain(&world, "other", "act", 3).await;
    let n = next_n();
    assert_eq!(world.call(claim(1, n, 1)).await, list(&[a]));
    let all = [vec![b], elsewhere].concat();
    assert_eq!(world.call(claim_all("5,5", Begin::Start)).await, list(&all));
    assert_eq!(world.call(claim(2, next_n(), 5)).await, "");
    assert_eq!(world.call(settle(1, n, a, "finish")).await, "");
    assert_eq!(world.call(claim(2, next_n(), 5)).await, list(&[c]));
    assert_eq!(world.call("select jobkit.running_of('all', '')::text".to_owned()).await, "5");
}

/// By priority, then age, as far as it has room; the others behind it are taken, wherever the scan
/// begins.
pub(crate) async fn a_limit_of_a_kind_leaves_the_slots_to_others(lab: Lab) {
    let world = patient(lab).await;
    world.call(limit_running("kind", "gone", "2")).await;
    for from in [Begin::Start, Begin::Marks, Begin::NoMarks] {
        let limited = plain(&world, "default", "gone", 3).await;
        let others = plain(&world, "default", "act", 4).await;
        let elsewhere = plain(&world, "other", "gone", 1).await;
        // Older ones of the kind are taken before the others, and fill slots of their queue.
        let first = [&limited[..2], &others[..1]].concat();
        assert_eq!(world.call(claim_all("3,1", from)).await, list(&first), "{from:?}");
        assert_eq!(world.call(claim_all("2,1", from)).await, list(&others[1..3]));
        world.expect(elsewhere[0], "ready, charged 0").await;
        world.call(limit_running("kind", "gone", "3")).await;
        let next = [&limited[2..], &others[3..]].concat();
        assert_eq!(world.call(claim_all("5,1", from)).await, list(&next));
        world.call(limit_running("kind", "gone", "2")).await;
        world.clear().await;
    }
}

pub(crate) async fn a_limit_counts_what_is_claimed_ahead(lab: Lab) {
    let world = patient(lab).await;
    world.call(limit_running("queue", "default", "3")).await;
    let [a, b, c, d] = world.ready().await;
    let ahead = format!("{a} {b}+ {c}+");
    assert_eq!(world.call(claim_ahead(1, next_n(), 4, 3)).await, ahead);
    next_n();
    assert_eq!(world.call(claim(2, next_n(), 4)).await, "");
    world.expect(d, "ready, charged 0").await;
}

/// What fits next, the claim is told; a claim that takes nothing uses nothing.
pub(crate) async fn a_rate_lets_a_burst_through_and_no_more(lab: Lab) {
    let world = patient(lab).await;
    world.call(limit_rate("kind", "act", 60, 2)).await;
    assert_eq!(world.call(claim(1, next_n(), 9)).await, "");
    let [a, b, c] = world.ready().await;
    assert_eq!(world.call(claim(1, next_n(), 9)).await, list(&[a, b]));
    let held = format!(
        "select max((c.note ->> 'fits_in')::numeric)::integer || ' of '
            || count(c.note ->> 'few')
        from jobkit.claim(1, {}, '{{act}}', '{{default}}', '{{9}}') c",
        next_n()
    );
    assert_eq!(world.call(held.clone()).await, "60 of 1");
    let minute = "update jobkit.turns set tat = tat - interval '1 minute'";
    world.lab.run(minute).await;
    assert_eq!(world.call(claim(1, next_n(), 9)).await, list(&[c]));
    // A new rate keeps in mind no more than a burst of its own.
    let rate = r#"{"rate": {"every": "10 ms", "burst": 1}}"#;
    world.call(set_limit("kind", "act", rate)).await;
    world.call(claim(1, next_n(), 9)).await;
    let of = "select (tat < clock_timestamp() + interval '20 ms')::text from jobkit.turns";
    assert_eq!(world.call(of.to_owned()).await, "true");
}

/// It would begin when it has waited for a slot, together with others.
pub(crate) async fn under_a_rate_nothing_is_claimed_ahead(lab: Lab) {
    let world = patient(lab).await;
    for (scope, name) in [("queue", "default"), ("kind", "act")] {
        world.call(limit_rate(scope, name, 60, 9)).await;
        let [a, _b] = world.ready().await;
        assert_eq!(world.call(claim_ahead(1, next_n(), 2, 1)).await, a.to_string());
        next_n();
        world.lab.run(UNSAID).await;
        world.clear().await;
    }
}

pub(crate) async fn what_is_denied_a_permit_costs_no_rate(lab: Lab) {
    let world = patient(lab).await;
    world.call(limit_rate("queue", "default", 60, 2)).await;
    let [a, b, c] = world.keyed(["a", "a", "c"]).await;
    assert_eq!(world.call(claim(1, next_n(), 9)).await, list(&[a]));
    world.expect(b, BLOCKED).await;
    assert_eq!(world.call(claim(1, next_n(), 9)).await, list(&[c]));
}

/// The next job of a key is ready with its permit; the claim that follows counts it.
pub(crate) async fn what_has_a_limit_is_begun_by_a_claim_only(lab: Lab) {
    let world = patient(lab).await;
    for (scope, name) in [("queue", "default"), ("kind", "act")] {
        let room = [("default", 5)];
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.blocked(["a"]).await;
        world.call(limit_running(scope, name, "1")).await;
        let settled = settle_and_claim(1, n, &[(x, "finish")], next_n(), &room);
        assert_eq!(world.call(settled).await, format!("{y} unblock"));
        world.expect(y, READY).await;
        world.call(limit_running(scope, name, "null")).await;
        world.clear().await;
        let (n, [w, x]) = world.running_keyed(["a", "b"]).await;
        let [y, z] = world.blocked(["a", "b"]).await;
        world.call(limit_running(scope, name, "1")).await;
        let settled = settle_and_claim(1, n, &[(w, "finish"), (x, "finish")], next_n(), &room);
        assert_eq!(world.call(settled).await, format!("{y} unblock"));
        world.expect(z, READY).await;
        world.call(limit_running(scope, name, "null")).await;
        world.clear().await;
    }
}

pub(crate) async fn what_is_not_limited_has_no_turn(lab: Lab) {
    let world = patient(lab).await;
    let turns = "select count(*)::text from jobkit.turns".to_owned();
    world.call(limit_running("kind", "act", "2")).await;
    world.call(pause_scope("kind", "act")).await;
    world.call(limit_rate("kind", "act", 1, 1)).await;
    assert_eq!(world.call(resume_scope("kind", "act")).await, "true");
    assert_eq!(world.call(limit_running("kind", "act", "null")).await, "true");
    assert_eq!(world.call(limit_running("kind", "act", "null")).await, "false");
    assert_eq!(world.call(turns.clone()).await, "1");
    world.call(set_limit("kind", "act", r#"{"rate": null}"#)).await;
    assert_eq!(world.call(turns).await, "0");
    assert_eq!(world.lab.count("jobkit.limits where holds").await, 0);
    world.call(limit_running("kind", "act", "0")).await;
    let [_a] = world.ready().await;
    assert_eq!(world.call(claim(1, next_n(), 9)).await, "", "0: none begins");
    assert_eq!(world.refusal(limit_running("all", "", "1")).await, "JK008");
    for limit in ["-1", "1000001"] {
        assert_eq!(world.refusal(limit_running("kind", "act", limit)).await, "JK008", "{limit}");
    }
    for rate in [
        r#""5/s""#,
        r#"{"burst": 1}"#,
        r#"{"every": "0 s"}"#,
        r#"{"every": "31 d"}"#,
        r#"{"every": "1 s", "burst": 0}"#,
    ] {
        let set = set_limit("kind", "act", &format!(r#"{{"rate": {rate}}}"#));
        assert_eq!(world.refusal(set).await, "JK008", "{rate}");
    }
    for of in ["'group', 'g', null", "'key', 'g', 'k'"] {
        let set = format!("select jobkit.set_limit({of}, '{{\"running\": -1}}')::text");
        assert_eq!(world.refusal(set).await, "JK008", "{of}");
    }
}

/// Who resumes may not come to look himself; what others find then is no mistake of anybody's.
pub(crate) async fn t172_what_a_sweep_finds_after_a_resume_is_explained(lab: Lab) {
    let world = patient(lab).await;
    let begin = || "select explained::text from jobkit.sweep_begin('0 s')".to_owned();
    for (scope, name) in [("kind", "act"), ("all", "")] {
        let long_ago = "update jobkit.workers set started_at = '-infinity';
            update jobkit.limits set changed_at = '-infinity'";
        world.lab.run(long_ago).await;
        world.call(pause_scope(scope, name)).await;
        assert_eq!(world.call(begin()).await, "false", "{scope}");
        let resume = world.hold(resume_scope(scope, name)).await;
        assert_eq!(resume.bystander(begin()).await, "false", "{scope}");
        resume.end(End::Commit).await;
        assert_eq!(world.call(begin()).await, "true", "{scope}");
    }
}

/// T270. As a limit does: a claim that looked before the rate was there commits before it.
pub(crate) async fn t270_a_rate_waits_for_claims_in_flight(lab: Lab) {
    let world = patient(lab).await;
    for (scope, name) in [("queue", "default"), ("kind", "act")] {
        for end in ENDS {
            let [a, b, c] = world.ready().await;
            let claimed = world.hold(claim(1, next_n(), 1)).await;
            let rate = claimed.waiter(limit_rate(scope, name, 1, 1)).await;
            claimed.end(end).await;
            assert_eq!(rate.answer().await.as_deref(), Ok("true"));
            let next = end.either(b, a);
            assert_eq!(world.call(claim(2, next_n(), 9)).await, list(&[next]));
            world.expect(c, "ready, charged 0").await;
            world.lab.run(UNSAID).await;
            world.clear().await;
        }
    }
}

/// T271. Who decided while it was paused commits before it, and the sweep behind it sees that.
pub(crate) async fn t271_a_resume_of_a_kind_waits_for_who_saw_the_pause(lab: Lab) {
    let world = wide(lab, 1).await;
    world.lab.run("alter function jobkit.resume_limit set lock_timeout = '1min'").await;
    for (scope, name) in [("kind", "gone"), ("all", "")] {
        for end in ENDS {
            let (n, [x]) = world.running_keyed(["a"]).await;
            let y = block(&world, gone("a")).await;
            world.call(pause_scope(scope, name)).await;
            let settled = world.hold(settle(1, n, x, "finish")).await;
            let resumed = settled.waiter(resume_scope(scope, name)).await;
            settled.end(end).await;
            assert_eq!(resumed.answer().await.as_deref(), Ok("true"));
            assert_eq!(world.call(sweep()).await, end.pick("1", "0"), "{scope}");
            world.expect(y, end.pick(READY, BLOCKED)).await;
            world.clear().await;
        }
    }
}

/// Of one job a minute two were let through at once, and the clock steps back by an hour: the next
/// one is let through a minute later.
pub(crate) async fn a_rate_goes_on_after_a_step_of_the_clock(lab: Lab) {
    let world = patient(lab).await;
    for (scope, name) in [("queue", "default"), ("kind", "act")] {
        world.call(limit_rate(scope, name, 60, 2)).await;
        let [a, b, c] = world.ready().await;
        assert_eq!(world.call(claim(1, next_n(), 9)).await, list(&[a, b]));
        step_back(&world.lab, "1 hour").await;
        assert_eq!(world.call(claim(1, next_n(), 9)).await, "");
        let minute = "update jobkit.turns set tat = tat - interval '1 minute'";
        world.lab.run(minute).await;
        assert_eq!(world.call(claim(1, next_n(), 9)).await, list(&[c]), "{scope}");
        world.lab.run(UNSAID).await;
        world.clear().await;
    }
}
