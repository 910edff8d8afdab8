//! Workers that stand still: frozen, blocked by their own handlers, or killed while their
//! statement waits.

use std::time::Duration;

use jobkit_tests::Lab;

use crate::jobs::Act;
use crate::process::{Counts, Process};
use crate::program::Program;
use crate::stage::{PATIENCE, all_done, enqueue, lab, light_turn, traces};

#[tokio::test]
async fn a_frozen_worker_loses_its_jobs_and_begins_anew_when_it_thaws() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let program = Program::quick(lab.url());
    let mut frozen = Process::start(&program).await;
    enqueue(&lab, 5, Act::Sleep(Duration::from_secs(3))).await;
    traces(&lab, 5, "what = 'begin'").await;
    frozen.freeze();
    let old = lab.value::<i64>("select min(worker_id) from effects").await;
    let mut other = Process::start(&program).await;
    all_done(&lab).await;
    let taken = format!("jobkit.finished where worker_id <> {old} and attempt = 2");
    assert_eq!(lab.count(&taken).await, 5, "the other worker finished them");

    frozen.thaw();
    let lost = format!("not exists (select from jobkit.workers where id = {old})");
    lab.until(&lost).await;
    let begun_anew = |counts: &Counts| counts.lost == 5 && counts.workers != [old];
    let counts = frozen.counted("it has a new id", begun_anew).await;
    assert_eq!(counts.finished, 0, "late outcomes write nothing");
    assert_eq!(lab.count(&taken).await, 5, "nothing has changed");
    assert_eq!(lab.count("jobkit.finished where jsonb_array_length(errors) = 1").await, 5);
    assert_eq!(other.counts().await.lost, 0);
    other.stop().await;

    enqueue(&lab, 3, Act::Sleep(Duration::ZERO)).await;
    all_done(&lab).await;
    let by_it = format!("jobkit.finished where worker_id = {}", counts.workers[0]);
    assert_eq!(lab.count(&by_it).await, 3, "it works again");
    frozen.stop().await;
    lab.check_invariants().await;
}

/// With nobody else to judge it: after the thaw its own reaper would find it lapsed.
#[tokio::test]
async fn a_worker_that_was_frozen_alone_charges_itself_nothing() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let mut alone = Process::start(&Program::quick(lab.url())).await;
    let id = alone.counts().await.workers;
    lab.until("started_at < clock_timestamp() - 2 * lease from jobkit.workers").await;
    enqueue(&lab, 5, Act::Sleep(Duration::from_millis(1500))).await;
    traces(&lab, 5, "what = 'begin'").await;
    alone.freeze();
    lab.until("lease_until < clock_timestamp() - lease from jobkit.workers").await;
    alone.thaw();
    all_done(&lab).await;
    let counts = alone.counts().await;
    assert_eq!((counts.reaped, counts.workers), (0, id));
    assert_eq!(lab.count("jobkit.finished where attempt = 1 and errors is null").await, 5);
    alone.stop().await;
    lab.check_invariants().await;
}

#[tokio::test]
async fn handlers_that_block_every_thread_for_five_leases_lose_nothing() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let program = Program { concurrency: 2, threads: 2, ..Program::quick(lab.url()) };
    let mut blocked = Process::start(&program).await;
    let before = blocked.counts().await.workers;
    enqueue(&lab, 2, Act::Block(Duration::from_secs(10))).await;
    let both = || async { blocked.events("blocking").len() == 2 };
    jobkit_tests::wait(PATIENCE, "both threads are blocked", both).await;
    let mut other = Process::start(&program).await;
    all_done(&lab).await;

    let counts = blocked.counted("both are finished", |counts| counts.finished == 2).await;
    assert_eq!((counts.workers, counts.lost), (before.clone(), 0));
    let other_counts = other.counts().await;
    assert_eq!((other_counts.claimed, other_counts.reaped), (0, 0));
    let pid = blocked.pid();
    assert_eq!(lab.count(&format!("effects where what = 'begin' and pid = {pid}")).await, 2);
    assert_eq!(lab.count("effects where what = 'begin'").await, 2);
    let theirs = format!("jobkit.finished where attempt = 1 and worker_id = {}", before[0]);
    assert_eq!(lab.count(&theirs).await, 2);
    blocked.stop().await;
    other.stop().await;
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_settle_whose_client_was_killed_counts_or_does_not_but_once() {
    let _turn = light_turn().await;
    // Released at once, the settle of the dead client may still be written; released after its
    // lease, the server has noticed.
    for held_for in [Duration::ZERO, Duration::from_secs(4)] {
        let lab = lab().await;
        let mut holder = lab.session("holder").await;
        let mut victim = Process::start(&Program::quick(lab.url())).await;
        enqueue(&lab, 1, Act::Sleep(Duration::from_secs(2))).await;
        traces(&lab, 1, "what = 'begin'").await;
        holder.run("begin; select from jobkit.claims for update").await.unwrap();
        let other = Process::start(&Program::quick(lab.url())).await;
        until_settle_waits(&lab, holder.pid).await;
        victim.kill();
        let reaped = "select jobkit.reap_claim(worker_id, n) from jobkit.claims";
        assert_eq!(lab.value::<i32>(reaped).await, 0, "not while somebody holds the claim");
        tokio::time::sleep(held_for).await;
        assert_eq!(lab.count("jobkit.jobs").await, 1);
        holder.run("commit").await.unwrap();
        all_done(&lab).await;

        let (attempt, errors): (i32, i32) = sqlx::query_as(
            "select attempt, coalesce(jsonb_array_length(errors), 0) from jobkit.finished",
        )
        .fetch_one(lab.pool())
        .await
        .unwrap();
        println!("held for {held_for:?}: finished in attempt {attempt}");
        assert_eq!(errors, attempt - 1, "every attempt has one outcome");
        let begins = lab.count("effects where what = 'begin'").await;
        assert_eq!(begins, i64::from(attempt));
        if held_for > Duration::from_secs(2) {
            assert_eq!(attempt, 2, "the server drops the statement of a dead client");
        }
        other.stop().await;
        lab.until("not exists (select from jobkit.claims)").await;
        lab.check_invariants().await;
    }
}

async fn until_settle_waits(lab: &Lab, holder: i32) {
    lab.until(&format!(
        "exists (select from pg_stat_activity where application_name = 'jobkit work'
            and query ~ 'jobkit.settle' and {holder} = any (pg_blocking_pids(pid)))"
    ))
    .await;
}
