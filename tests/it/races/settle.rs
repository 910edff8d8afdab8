//! Two outcomes for one claim: whoever comes second waits, and finds what is left.

use jobkit_tests::Lab;

use super::calls::{promote, release_later, reschedule, settle, settle_all};
use super::kit::{ENDS, End, World, list};

in_a_lab![
    outcomes_of_one_batch_take_turns,
    a_batch_of_outcomes_counts_but_for_the_lost_ones,
    whole_claims_parts_and_lost_ones_go_in_one_call,
    two_finishes_of_a_job_end_it_once,
    a_late_finish_waits_for_any_other_outcome_and_is_lost,
    a_late_outcome_waits_for_a_finish_and_is_lost,
    two_retries_of_a_job_are_charged_once,
    the_last_attempt_is_buried_once,
    a_late_outcome_leaves_the_next_attempt_alone,
    a_job_that_failed_is_retrying_whenever_it_is_scheduled,
];

/// T15, T16: two settles of one claim, of different jobs. The claim goes with its last job.
pub(crate) async fn outcomes_of_one_batch_take_turns(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (n, [x, y]) = world.running().await;
        let first = world.hold(settle(1, n, x, "finish")).await;
        assert_eq!(first.answer, "");
        let second = first.waiter(settle(1, n, y, "finish")).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok(""));
        world.expect(x, end.pick("finish", &format!("running 1/{n}, charged 0"))).await;
        world.expect(y, "finish").await;
        let claims = world.lab.count(&format!("jobkit.claims where n = {n}")).await;
        assert_eq!(claims, i64::from(end == End::Rollback));
    }
    world.lab.check_invariants().await;
}

/// T77: one late outcome among others takes none of them along.
pub(crate) async fn a_batch_of_outcomes_counts_but_for_the_lost_ones(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (n, [x, y, z]) = world.running().await;
        let first = world.hold(settle(1, n, x, "snooze")).await;
        let batch = settle_all(1, n, &[(z, "retry"), (x, "finish"), (y, "finish")]);
        let second = first.waiter(batch).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick(&format!("{x} lost"), "")));
        world.expect(x, end.pick("scheduled, charged 0", "finish")).await;
        world.expect(y, "finish").await;
        world.expect(z, "scheduled, charged 1").await;
        assert_eq!(world.lab.count("jobkit.claims").await, 0);
    }
    world.lab.check_invariants().await;
}

/// Two claims that end as a whole, one of which a job is left, and one that is gone.
pub(crate) async fn whole_claims_parts_and_lost_ones_go_in_one_call(lab: Lab) {
    let world = World::new(lab).await;
    let (one, [a, b]) = world.running().await;
    let (two, [c, d]) = world.running().await;
    let (part, [e, left]) = world.running().await;
    let (gone, [lost]) = world.running().await;
    assert_eq!(world.call(settle(1, gone, lost, "snooze")).await, "");
    let call = format!(
        "select string_agg(s.job_id || ' ' || s.ending, ', ')
        from jobkit.settle(1, jobkit.outcomes('{{{one}, {one}, {two}, {two}, {part}, {gone}}}',
            '{{{a}, {b}, {c}, {d}, {e}, {lost}}}', array_fill('finish'::text, array[6]),
            p_keep => array_fill(interval '1 hour', array[6]))) s"
    );
    assert_eq!(world.call(call).await, format!("{lost} lost"));
    for job in [a, b, c, d, e] {
        world.expect(job, "finish").await;
    }
    world.expect(left, &format!("running 1/{part}, charged 0")).await;
    world.expect(lost, "scheduled, charged 0").await;
    assert_eq!(world.lab.count("jobkit.claims").await, 1);
    world.lab.check_invariants().await;
}

/// T60: the same outcome twice. The second one is told that it is lost.
pub(crate) async fn two_finishes_of_a_job_end_it_once(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (n, [x, y]) = world.running().await;
        let first = world.hold(settle(1, n, x, "finish")).await;
        let second = first.waiter(settle(1, n, x, "finish")).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick(&format!("{x} lost"), "")));
        world.expect(x, "finish").await;
        world.expect(y, &format!("running 1/{n}, charged 0")).await;
    }
    world.lab.check_invariants().await;
}

/// T77: a finish sent twice, the second time beside the retry, snooze, burial, … of the attempt. A
/// lock on the claim that lets it pass would end a job that has another attempt ahead of it.
pub(crate) async fn a_late_finish_waits_for_any_other_outcome_and_is_lost(lab: Lab) {
    let world = World::new(lab).await;
    for (outcome, place, failures) in [
        ("retry", "scheduled, charged 1", "retry"),
        ("snooze", "scheduled, charged 0", ""),
        ("release", "ready, charged 0", ""),
        ("bury", "exhausted", "bury"),
        ("discard", "discard", ""),
        ("cancel", "cancel", ""),
    ] {
        for end in ENDS {
            let (n, [x, y]) = world.running().await;
            let first = world.hold(settle(1, n, x, outcome)).await;
            assert_eq!(first.answer, "");
            let late = first.waiter(settle(1, n, x, "finish")).await;
            first.end(end).await;
            let lost = format!("{x} lost");
            assert_eq!(late.answer().await.as_deref(), Ok(end.pick(&lost, "")), "{outcome}");
            world.expect(x, end.pick(place, "finish")).await;
            assert_eq!(world.failures(x).await, end.pick(failures, ""), "{outcome}");
            world.expect(y, &format!("running 1/{n}, charged 0")).await;
            world.lab.check_invariants().await;
            world.clear().await;
        }
    }
}

/// T16, T77: the reverse. Nothing is charged to a job that has ended.
pub(crate) async fn a_late_outcome_waits_for_a_finish_and_is_lost(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["retry", "snooze", "bury", "release", "cancel"] {
        let (n, [x, y]) = world.running().await;
        let first = world.hold(settle(1, n, x, "finish")).await;
        let late = first.waiter(settle(1, n, x, outcome)).await;
        first.end(End::Commit).await;
        assert_eq!(late.answer().await.as_deref(), Ok(&*format!("{x} lost")), "{outcome}");
        world.expect(x, "finish").await;
        assert_eq!(world.failures(x).await, "", "{outcome}");
        world.expect(y, &format!("running 1/{n}, charged 0")).await;
    }
    let (n, [x]) = world.running().await;
    let first = world.hold(settle(1, n, x, "finish")).await;
    let late = first.waiter(settle(1, n, x, "retry")).await;
    first.end(End::Rollback).await;
    assert_eq!(late.answer().await.as_deref(), Ok(""));
    world.expect(x, "scheduled, charged 1").await;
    world.lab.check_invariants().await;
}

/// T60: a failure reported twice is one failed attempt.
pub(crate) async fn two_retries_of_a_job_are_charged_once(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (n, [x, y]) = world.running().await;
        let first = world.hold(settle(1, n, x, "retry")).await;
        let second = first.waiter(settle(1, n, x, "retry")).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick(&format!("{x} lost"), "")));
        world.expect(x, "scheduled, charged 1").await;
        assert_eq!(world.failures(x).await, "retry");
        world.expect(y, &format!("running 1/{n}, charged 0")).await;
    }
    world.lab.check_invariants().await;
}

/// T60: the retry that uses up the attempts becomes one dead letter, however often it is sent.
pub(crate) async fn the_last_attempt_is_buried_once(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (n, x) = world.running_with(1).await;
        let first = world.hold(settle(1, n, x, "retry")).await;
        assert_eq!(first.answer, format!("{x} bury"));
        let second = first.waiter(settle(1, n, x, "retry")).await;
        first.end(end).await;
        let told = format!("{x} {}", end.pick("lost", "bury"));
        assert_eq!(second.answer().await.as_deref(), Ok(&*told));
        world.expect(x, "exhausted").await;
        assert_eq!(world.failures(x).await, "bury");
    }
    assert_eq!(world.lab.count("jobkit.claims").await, 0);
    world.lab.check_invariants().await;
}

/// T17, T79: an outcome of the first attempt that arrives while the second one runs, even under the
/// same worker. The end of the second takes the record of the first one's failure with it.
pub(crate) async fn a_late_outcome_leaves_the_next_attempt_alone(lab: Lab) {
    let world = World::new(lab).await;
    let (n, [x]) = world.running().await;
    assert_eq!(world.call(settle(1, n, x, "retry")).await, "");
    let past = "run_at = clock_timestamp() - interval '1 s'";
    let past = format!(
        "update jobkit.jobs set {past};
        update jobkit.scheduled set run_at = (select run_at from jobkit.jobs)"
    );
    world.lab.run(&past).await;
    assert_eq!(world.call(promote(10)).await, "1");
    let again = world.claim(1, &[x]).await;
    for outcome in ["finish", "retry", "bury"] {
        assert_eq!(world.call(settle(1, n, x, outcome)).await, format!("{x} lost"), "{outcome}");
        // A claim is its worker's alone.
        assert_eq!(world.call(settle(2, again, x, outcome)).await, format!("{x} lost"));
        world.expect(x, &format!("running 1/{again}, charged 1")).await;
    }
    // … nor beside another outcome of the claim that has the job now.
    let both = format!(
        "select string_agg(s.job_id || ' ' || s.ending, ', ' order by s.job_id)
        from jobkit.settle(1, jobkit.outcomes('{{{n}, {again}}}', '{{{x}, 0}}', '{{finish,
            finish}}')) s"
    );
    assert_eq!(world.call(both).await, format!("0 lost, {x} lost"));
    world.expect(x, &format!("running 1/{again}, charged 1")).await;
    let first = world.hold(settle(1, again, x, "finish")).await;
    assert_eq!(first.bystander(settle(1, n, x, "finish")).await, format!("{x} lost"));
    first.end(End::Commit).await;
    world.expect(x, "finish").await;
    assert_eq!(world.lab.count("jobkit.attempts").await, 0);
    world.lab.check_invariants().await;
}

/// Retried, snoozed, released for later, and put off by an operator; and one that never failed is
/// not.
pub(crate) async fn a_job_that_failed_is_retrying_whenever_it_is_scheduled(lab: Lab) {
    let world = World::new(lab).await;
    let (mut n, [failed, other]) = world.running().await;
    assert_eq!(world.call(settle_all(1, n, &[(failed, "retry"), (other, "snooze")])).await, "");
    for step in ["retry", "snooze", "release", "reschedule"] {
        let charged = [(failed, 1), (other, 0)];
        for (job, charged) in charged {
            world.expect(job, &format!("scheduled, charged {charged}")).await;
        }
        let retrying = "array_agg(s.job_id order by s.job_id) from jobkit.scheduled s";
        let retrying: Vec<i64> =
            world.lab.value(&format!("select {retrying} where s.retrying")).await;
        assert_eq!(retrying, [failed], "{step}");
        world.lab.check_invariants().await;
        world.an_hour_later().await;
        assert_eq!(world.call(promote(10)).await, "2");
        if step == "release" {
            let put_off = world.call(reschedule(&[failed, other], "'1 hour'")).await;
            assert_eq!(put_off, list(&[failed, other]));
            continue;
        }
        n = world.claim(1, &[failed, other]).await;
        for job in [failed, other] {
            let later = match step {
                "retry" => settle(1, n, job, "snooze"),
                _ => release_later(1, n, job),
            };
            world.call(later).await;
        }
    }
}
