//! A publication of all tables, as a logical replica or an upgrade by replication makes it. The
//! database of every test has one; here is what depends on it by name.

use std::time::Duration;

use jobkit::admin::dead_letters::{DeadLetterFilter, DeadLetterId, DeadLetterState};
use jobkit::admin::jobs::Cancelled;
use jobkit::admin::operations::BulkAction;
use jobkit::{Admin, Enqueue};
use jobkit_tests::Lab;

use crate::jobs::{self, Act, EFFECTS, Then};
use crate::lifecycle::{act, outcome};
use crate::prune::{gone, make_day};
use crate::races::calls;

/// Tables whose rows a publication could not name: without a primary key and without another
/// replica identity. What is unlogged is not published.
const NAMELESS: &str = "
    select coalesce(string_agg(c.relname, ', ' order by c.relname), '') from pg_class c
    where c.relnamespace = 'jobkit'::regnamespace and c.relkind in ('r', 'p')
        and c.relpersistence = 'p' and c.relreplident <> 'f' and not exists (
            select from pg_index i where i.indrelid = c.oid and i.indisvalid
                and case c.relreplident when 'd' then i.indisprimary else i.indisreplident end
        )";

#[tokio::test]
async fn every_logged_table_and_each_day_has_a_replica_identity() {
    let lab = Lab::new().await;
    lab.run("select jobkit.finished_prepare(3)").await;
    assert_eq!(lab.count("pg_publication where puballtables and pubdelete").await, 1);
    assert_eq!(lab.value::<String>(NAMELESS).await, "");
    // The query would know.
    lab.run(
        "create table jobkit.mine (); alter table jobkit.finished_days drop constraint \
        finished_days_pkey",
    )
    .await;
    assert_eq!(lab.value::<String>(NAMELESS).await, "finished_days, mine");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_publication_of_all_tables_stops_nothing() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    make_day(&lab, "2024-02-29").await;
    // At its last attempt, in the hands of a worker that is gone.
    let crashed = Act::then(Then::Succeed).options().max_attempts(1);
    let crashed = crashed.enqueue(lab.pool()).await.unwrap();
    lab.run("select jobkit.register(7, 'gone', '{default}', '{act}', '1 min')").await;
    lab.run("select * from jobkit.claim(7, 1, '{act}', '{default}', '{1}')").await;
    lab.run("select jobkit.deregister(7)").await;
    // A lease so short is for this alone: a handler would lose it when the machine stalls.
    let reaper = lab.worker().lease(Duration::from_secs(2)).jobs(jobs::all()).queue("idle", 1);
    let reaper = reaper.state(lab.pool().clone()).start().await.unwrap();
    assert_eq!(outcome(&lab, crashed).await, "crashed");
    reaper.stop().await;
    let worker = lab.worker().replay_every(Duration::from_millis(100));
    let worker = worker.state(lab.pool().clone()).jobs(jobs::all()).queue("default", 10);
    let worker = worker.start().await.unwrap();
    for (then, ending) in [
        (Then::FailTimes(2), "finish"),
        (Then::Fail("no".to_owned()), "exhausted"),
        (Then::Discard, "discard"),
        (Then::Dead, "dead"),
        (Then::SnoozeTimes(1), "finish"),
    ] {
        let job = act(&lab, then).await;
        assert_eq!(outcome(&lab, job).await, ending);
    }
    let admin = Admin::new(lab.pool());
    let job = act(&lab, Then::WaitForCancel).await;
    lab.until(&format!("exists (select from effects where job_id = {job})")).await;
    assert_eq!(admin.job(job).cancel().await.unwrap(), Cancelled::Requested);
    assert_eq!(outcome(&lab, job).await, "cancel");

    let crashed = "select id from jobkit.dead_letters where reason = 'crashed'";
    let replay = admin.dead_letter(DeadLetterId(lab.value(crashed).await)).replay().await.unwrap();
    assert_eq!(outcome(&lab, replay).await, "finish");
    let rest = DeadLetterFilter::all().state(DeadLetterState::Open);
    admin.begin_operation(&BulkAction::DiscardDeadLetters(rest), "", "rest").await.unwrap();
    lab.until("not exists (select from jobkit.dead_letters where state = 'open')").await;
    gone(&lab, &["2024-02-29"]).await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// Seen from the other side: without it the test above fails, as every outcome did once.
#[tokio::test]
async fn without_the_identity_of_attempts_a_publication_stops_the_outcome() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    lab.run("alter table jobkit.attempts replica identity nothing").await;
    let job = act(&lab, Then::Succeed).await;
    lab.run("select jobkit.register(7, 'w', '{default}', '{act}', '1 min')").await;
    lab.run("select * from jobkit.claim(7, 1, '{act}', '{default}', '{1}')").await;
    lab.run("update jobkit.jobs set attempt = max_attempts - 1").await;
    let mut session = lab.session("settle").await;
    let settle = calls::settle(7, 1, job.0, "retry");
    let error = session.run(&settle).await.unwrap_err().to_string();
    assert!(error.contains("does not have a replica identity"), "{error}");
}

/// The primary key that a publication needs must not be one more way to fail.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_was_set_back_by_hand_fails_again() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let job = act(&lab, Then::Fail("no".to_owned())).await;
    lab.run(&format!(
        "insert into jobkit.attempts (job_id, attempt, outcome, error, ended_at)
        values ({job}, 1, 'retry', 'before', now()), ({job}, 3, 'crash', 'before', now())"
    ))
    .await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).queue("default", 1);
    let worker = worker.start().await.unwrap();
    assert_eq!(outcome(&lab, job).await, "exhausted");
    let errors = "select string_agg(e->>'error', ' ') from jobkit.dead_letters,
        jsonb_array_elements(errors) e";
    assert_eq!(lab.value::<String>(errors).await, "no no no");
    worker.stop().await;
    lab.check_invariants().await;
}
