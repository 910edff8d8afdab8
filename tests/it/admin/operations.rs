//! Operations: what they do, that they do it once, and what stops them.

use std::time::Duration;

use jobkit::JobId;
use jobkit::admin::audit::AuditFilter;
use jobkit::admin::dead_letters::{DeadLetterFilter, DeadLetterState};
use jobkit::admin::jobs::{JobQuery, State};
use jobkit::admin::operations::{BulkAction, Operation, OperationState, Selected};
use jobkit::admin::{AdminError, Count};
use jobkit::error::InvalidValue;

use super::kit::{Desk, HOUR};

pub(super) fn query(words: &str) -> JobQuery {
    words.parse().unwrap()
}

impl Desk {
    /// One step of an operation, as a worker takes it.
    pub(super) async fn step(&self, id: i64, rows: i32) -> Option<String> {
        self.lab.value(&format!("select jobkit.operate({id}, {rows})")).await
    }

    /// All steps of an operation.
    pub(super) async fn finish(&self, id: i64, rows: i32) -> Operation {
        while let Some(outcome) = self.step(id, rows).await {
            self.lab.check_invariants().await;
            if outcome == "done" {
                break;
            }
        }
        self.operation(id).await
    }

    pub(super) async fn operation(&self, id: i64) -> Operation {
        self.admin.operation(id).get().await.unwrap().expect("it was begun")
    }

    pub(super) async fn begin(&self, action: &BulkAction, key: &str) -> Operation {
        self.admin.begin_operation(action, "", key).await.unwrap()
    }

    /// Begins it, and takes all steps.
    async fn done(&self, action: &BulkAction, reason: &str, key: &str) -> Operation {
        let begun = self.admin.begin_operation(action, reason, key).await.unwrap();
        self.finish(begun.id, 500).await
    }

    /// What the audit has of operations, the newest first: the act, and what is known of it.
    async fn noted(&self) -> Vec<(String, serde_json::Value)> {
        let about = AuditFilter::all().subject("operation");
        let audit = self.admin.audit(&about, None, 100).await.unwrap().entries;
        audit.into_iter().map(|entry| (entry.action, entry.detail)).collect()
    }

    /// Makes dead letters.
    pub(super) async fn letters(&self, number: usize) {
        let account = |n| format!("dead-{n}-{:08x}", fastrand::u32(..));
        let jobs = self.pay_all((0..number).map(account)).await;
        let (n, claimed) = self.claim().await;
        assert!(jobs.iter().all(|job| claimed.contains(job)));
        for job in jobs {
            self.settle(n, job, "bury").await;
        }
    }
}

#[tokio::test]
async fn everything_that_was_there_is_cancelled_wherever_it_is() {
    let desk = Desk::new().await;
    let (n, running) = desk.running("a").await;
    let blocked = desk.blocked("a").await;
    let later = desk.pay_later("b").await;
    let mut ready = desk.pay_all((0..25).map(|n| format!("c{n}"))).await;
    let spared = desk.pay_in("slow", "d").await;
    let action = BulkAction::Cancel(query("queue:default kind:pay"));
    let preview = desk.admin.preview(&action).await.unwrap();
    assert_eq!((preview.count, preview.jobs.len()), (Count::Exactly(28), 5));
    let begun = desk.begin(&action, "click").await;
    assert_eq!((begun.state, begun.total, begun.done), (OperationState::Pending, Some(28), 0));
    let late = desk.pay("e").await;
    let ended = desk.finish(begun.id, 10).await;
    assert_eq!((ended.state, ended.done, ended.skipped), (OperationState::Done, 28, 0));
    assert!(ended.started_at.is_some() && ended.ended_at.is_some());
    assert_eq!(
        ended.stop_requested, 1,
        "the running one was asked to stop, which is what was wanted"
    );
    assert_eq!(desk.admin.operation(begun.id).results().await.unwrap(), []);
    ready.extend([blocked, later]);
    for job in ready {
        assert_eq!(desk.place(job).await, "cancel: cancelled");
    }
    for job in [spared, late] {
        assert_eq!(desk.state(job).await, State::Ready);
    }
    assert!(desk.job(running).await.cancel_requested);
    desk.settle(n, running, "retry").await;
    assert_eq!(desk.place(running).await, "cancel: why");
    assert_eq!(desk.step(begun.id, 10).await, None, "it has ended");
}

#[tokio::test]
async fn jobs_are_discarded_for_a_reason_and_rescheduled_by_what_a_query_means() {
    let desk = Desk::new().await;
    let jobs = desk.pay_all(["x", "y", "y"].map(str::to_owned)).await;
    let action = BulkAction::Discard(query("args.account:y"));
    let ended = desk.done(&action, "no such account", "a").await;
    assert_eq!(ended.reason.as_deref(), Some("no such account"));
    assert_eq!((ended.done, ended.skipped), (2, 0));
    assert_eq!(desk.place(jobs[1]).await, "discard: no such account");
    assert_eq!(desk.state(jobs[0]).await, State::Ready);
    let later = desk.pay_later("z").await;
    let now = BulkAction::Reschedule(query("state:scheduled"), None);
    let ended = desk.begin(&now, "b").await;
    let ended = desk.finish(ended.id, 500).await;
    assert_eq!((ended.verb.as_str(), ended.done), ("reschedule", 1));
    assert_eq!(desk.state(later).await, State::Ready);
    let (_, claimed) = desk.claim().await;
    assert_eq!(claimed.len(), 2);
    let tomorrow = chrono::Utc::now() + 24 * HOUR;
    let ended = desk.begin(&BulkAction::Reschedule(query(""), Some(tomorrow)), "c").await;
    let ended = desk.finish(ended.id, 500).await;
    assert_eq!((ended.done, ended.skipped), (0, 2), "running jobs stay");
    assert_eq!(desk.admin.operation(ended.id).results().await.unwrap()[0].outcome, "running");
    let none = BulkAction::Cancel(query("state:finished"));
    assert_eq!(desk.admin.preview(&none).await.unwrap().count, Count::Exactly(0));
    let ended = desk.begin(&none, "d").await;
    assert_eq!(desk.finish(ended.id, 500).await.done, 0);
}

#[tokio::test]
async fn dead_letters_are_replayed_discarded_and_purged() {
    let desk = Desk::new().await;
    desk.letters(30).await;
    let some = DeadLetterFilter::all().kind("pay");
    let replay = BulkAction::Replay(some.clone());
    let preview = desk.admin.preview(&replay).await.unwrap();
    assert_eq!((preview.count, preview.dead_letters.len()), (Count::Exactly(30), 5));
    let begun = desk.begin(&replay, "replay").await;
    assert_eq!(desk.step(begun.id, 7).await.as_deref(), Some("step"));
    desk.letters(3).await;
    let ended = desk.finish(begun.id, 7).await;
    assert_eq!((ended.state, ended.done, ended.skipped), (OperationState::Done, 30, 0));
    assert_eq!(desk.lab.count("jobkit.jobs where dead_letter_id is not null").await, 30);
    let purge = BulkAction::Purge(some.clone(), HOUR);
    assert_eq!(desk.admin.preview(&purge).await.unwrap().count, Count::Exactly(0));
    let begun = desk.begin(&purge, "purge").await;
    assert_eq!(desk.finish(begun.id, 500).await.done, 0, "none is so old");
    let discard = BulkAction::DiscardDeadLetters(some.clone());
    let begun = desk.begin(&discard, "discard").await;
    assert_eq!(desk.finish(begun.id, 2).await.done, 3);
    let purge = BulkAction::Purge(some.clone().state(DeadLetterState::Resolved), Duration::ZERO);
    let begun = desk.begin(&purge, "purge again").await;
    assert_eq!(desk.finish(begun.id, 500).await.done, 0);
    let replaying = BulkAction::DiscardDeadLetters(some.state(DeadLetterState::Replaying));
    assert!(matches!(desk.admin.preview(&replaying).await, Err(AdminError::Replaying)));
}

#[tokio::test]
async fn what_others_have_in_hand_is_skipped_and_named() {
    let desk = Desk::new().await;
    desk.letters(3).await;
    let mut other = desk.lab.session("other").await;
    let held: i64 = other.value("select min(id) from jobkit.dead_letters").await.unwrap();
    let hold = format!("begin; select from jobkit.dead_letters where id = {held} for update");
    other.run(&hold).await.unwrap();
    let begun = desk.begin(&BulkAction::Replay(DeadLetterFilter::all()), "k").await;
    let ended = desk.finish(begun.id, 500).await;
    assert_eq!((ended.done, ended.skipped), (2, 1));
    let results = desk.admin.operation(begun.id).results().await.unwrap();
    assert_eq!((results[0].subject, &*results[0].outcome), (held, "locked by another session"));
    other.run("rollback").await.unwrap();
}

#[tokio::test]
async fn one_key_begins_one_operation() {
    let desk = Desk::new().await;
    desk.pay("a").await;
    let action = BulkAction::Cancel(JobQuery::default());
    let clicks = (0..8).map(|_| {
        let (admin, action) = (desk.admin.clone(), action.clone());
        tokio::spawn(async move { admin.begin_operation(&action, "", "once").await.unwrap().id })
    });
    let mut ids = Vec::new();
    for click in clicks.collect::<Vec<_>>() {
        ids.push(click.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let other = BulkAction::Replay(DeadLetterFilter::all());
    let again = desk.begin(&other, "once").await;
    assert_eq!((again.id, &*again.verb), (ids[0], "cancel"));
    assert_eq!(desk.lab.count("jobkit.audit where action = 'begin'").await, 1);
    let bad = desk.admin.begin_operation(&action, "", "").await;
    assert!(matches!(
        bad,
        Err(AdminError::Invalid(InvalidValue::Length { what: "idempotency key", .. }))
    ));
    let listed = desk.admin.operations(None, 10).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert!(desk.admin.operations(Some(ids[0]), 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn one_step_is_taken_at_a_time_and_a_lost_one_is_taken_again() {
    let desk = Desk::new().await;
    let jobs = desk.pay_all((0..20).map(|n| format!("a{n}"))).await;
    let begun = desk.begin(&BulkAction::Cancel(JobQuery::default()), "k").await;
    let step = format!("select jobkit.operate({}, 8)", begun.id);
    let mut doomed = desk.lab.session("doomed").await;
    for left in [20, 20, 12, 12, 4, 4] {
        doomed.run("begin").await.unwrap();
        let outcome: Option<String> = doomed.value(&step).await.unwrap();
        assert_eq!(outcome.as_deref(), Some("step"));
        // Somebody else does not wait for it, and does nothing.
        assert_eq!(desk.step(begun.id, 8).await, None);
        // It dies before it commits.
        desk.lab.run(&format!("select pg_terminate_backend({})", doomed.pid)).await;
        let gone = format!("not exists (select from pg_stat_activity where pid = {})", doomed.pid);
        desk.lab.until(&gone).await;
        assert_eq!(desk.lab.count("jobkit.jobs").await, left);
        assert_eq!(desk.step(begun.id, 8).await.as_deref(), Some("step"));
        doomed = desk.lab.session("doomed").await;
    }
    let ended = desk.finish(begun.id, 8).await;
    assert_eq!((ended.done, ended.skipped), (20, 0));
    assert_eq!(desk.lab.count("jobkit.finished where outcome = 'cancel'").await, 20);
    assert_eq!(desk.place(jobs[19]).await, "cancel: cancelled");
}

#[tokio::test]
async fn a_cancelled_operation_stops_behind_its_page() {
    let desk = Desk::new().await;
    let jobs: Vec<JobId> = desk.pay_all((0..20).map(|n| format!("a{n}"))).await;
    let begun = desk.begin(&BulkAction::Cancel(JobQuery::default()), "k").await;
    desk.step(begun.id, 8).await;
    let mut session = desk.lab.session("worker").await;
    session.run("begin").await.unwrap();
    let step = format!("select jobkit.operate({}, 8)", begun.id);
    session.value::<Option<String>>(&step).await.unwrap();
    // Whoever cancels it waits for the page in hand.
    let (admin, id) = (desk.admin.clone(), begun.id);
    let cancelled = tokio::spawn(async move { admin.operation(id).cancel().await });
    let waits = format!(
        "exists (select from pg_stat_activity where {} = any (pg_blocking_pids(pid))
            and application_name = 'jobkit admin')",
        session.pid
    );
    desk.lab.until(&waits).await;
    session.run("commit").await.unwrap();
    assert!(cancelled.await.unwrap().unwrap());
    assert_eq!(desk.step(begun.id, 8).await, None);
    let ended = desk.operation(begun.id).await;
    assert_eq!((ended.state, ended.done), (OperationState::Cancelled, 8));
    assert_eq!(desk.state(jobs[8]).await, State::Ready);
    assert!(!desk.job(jobs[8]).await.cancel_requested);
    assert!(!desk.admin.operation(begun.id).cancel().await.unwrap(), "it has ended");
    assert_eq!(
        desk.lab.count("jobkit.audit where action = 'cancel' and subject = 'operation'").await,
        1
    );
    assert!(!desk.admin.operation(-1).cancel().await.unwrap());
}

#[tokio::test]
async fn workers_do_operations_by_themselves() {
    let desk = Desk::new().await;
    desk.pay_all((0..1_200).map(|n| format!("a{n}"))).await;
    let later = BulkAction::Reschedule(JobQuery::default(), Some(chrono::Utc::now() + HOUR));
    let moved = desk.begin(&later, "later").await;
    let first = desk.start().await;
    let second = desk.start().await;
    desk.lab.until(&format!("state = 'done' from jobkit.operations where id = {}", moved.id)).await;
    let ended = desk.operation(moved.id).await;
    let cancelled = desk.begin(&BulkAction::Cancel(JobQuery::default()), "all").await;
    desk.go().await;
    desk.lab
        .until(&format!("state = 'done' from jobkit.operations where id = {}", cancelled.id))
        .await;
    assert_eq!(ended.done + ended.skipped, 1_200, "{ended:?}");
    desk.lab.until("count(*) = 0 from jobkit.jobs").await;
    first.stop().await;
    second.stop().await;
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn an_operation_that_the_database_refuses_fails_and_holds_up_no_other() {
    let desk = Desk::new().await;
    desk.pay_later("a").await;
    let broken = desk.begin(&BulkAction::Cancel(JobQuery::default()), "broken").await;
    desk.lab.run("update jobkit.operations set filter = filter || '{\"worker\": \"none\"}'").await;
    let good = desk.begin(&BulkAction::Cancel(JobQuery::default()), "good").await;
    let worker = desk.start().await;
    desk.lab.until(&format!("state = 'done' from jobkit.operations where id = {}", good.id)).await;
    let failed = desk.operation(broken.id).await;
    assert_eq!(failed.state, OperationState::Failed);
    assert!(failed.error.is_some() && failed.ended_at.is_some());
    worker.stop().await;
}

/// More jobs of two kinds than one look sees, the newest first.
async fn crowd(desk: &Desk) {
    desk.lab
        .run(
            "select count(jobkit.enqueue(case when n % 2 = 0 then 'pay' else 'noop' end, '{}',
                p_concurrency_key => case when n % 2 = 0 then 'a' end))
            from generate_series(1, 10100) n",
        )
        .await;
}

#[tokio::test]
async fn what_one_look_cannot_count_is_counted_before_anything_is_done() {
    let desk = Desk::new().await;
    crowd(&desk).await;
    let action = BulkAction::Cancel(query("kind:noop"));
    assert_eq!(desk.admin.preview(&action).await.unwrap().count, Count::AtLeast(5_000));
    let begun = desk.begin(&action, "k").await;
    assert_eq!((begun.total, begun.counted), (None, 0), "5,000 would be wrong");
    let mut seen = Vec::new();
    loop {
        assert_eq!(desk.step(begun.id, 500).await.as_deref(), Some("step"));
        let now = desk.operation(begun.id).await;
        if now.state != OperationState::Counting {
            break;
        }
        assert_eq!((now.total, now.done), (None, 0));
        assert_eq!(desk.lab.count("jobkit.jobs where cancel_requested_at is not null").await, 0);
        seen.push(now.counted);
    }
    assert_eq!(seen, [1_000, 2_000, 3_000, 4_000, 5_000]);
    let counted = desk.operation(begun.id).await;
    assert_eq!((counted.state, counted.total), (OperationState::Running, Some(5_050)));
    let ended = desk.finish(begun.id, 1_000).await;
    assert_eq!((ended.total, ended.done, ended.skipped), (Some(5_050), 5_050, 0));
    assert_eq!(desk.lab.count("jobkit.jobs").await, 5_050, "those of the other kind");
}

#[tokio::test]
async fn dead_letters_that_one_look_cannot_count_are_counted_first_too() {
    let desk = Desk::new().await;
    desk.lab
        .run(
            "insert into jobkit.dead_letters (job_id, kind, queue, priority, max_attempts, reason,
                errors, attempt, attempts, snoozes, created_at, first_failed_at, failed_at, args,
                error, fingerprint)
            select -n, case when n % 2 = 0 then 'pay' else 'noop' end, 'default', 0, 20,
                'exhausted', '[]', 20, 20, 0, now(), now(), now() - n * interval '1 s', '{}', 'no',
                'f'
            from generate_series(1, 10100) n",
        )
        .await;
    let action = BulkAction::DiscardDeadLetters(DeadLetterFilter::all().kind("pay"));
    let begun = desk.begin(&action, "k").await;
    assert_eq!((begun.total, begun.counted), (None, 0));
    assert_eq!(desk.step(begun.id, 1_000).await.as_deref(), Some("step"));
    assert_eq!(desk.operation(begun.id).await.state, OperationState::Counting);
    let ended = desk.finish(begun.id, 1_000).await;
    assert_eq!((ended.total, ended.done, ended.skipped), (Some(5_050), 5_050, 0));
}

#[tokio::test]
async fn an_operation_that_is_being_counted_can_be_cancelled() {
    let desk = Desk::new().await;
    crowd(&desk).await;
    let begun = desk.begin(&BulkAction::Cancel(query("kind:pay")), "k").await;
    desk.step(begun.id, 500).await;
    assert_eq!(desk.operation(begun.id).await.state, OperationState::Counting);
    assert!(desk.admin.operation(begun.id).cancel().await.unwrap());
    assert_eq!(desk.step(begun.id, 500).await, None);
    let ended = desk.operation(begun.id).await;
    assert_eq!((ended.state, ended.total, ended.done), (OperationState::Cancelled, None, 0));
    assert_eq!(desk.lab.count("jobkit.jobs").await, 10_100);
}

#[tokio::test]
async fn an_operation_of_many_pages_is_one_entry_of_the_audit_with_what_came_of_it() {
    let desk = Desk::new().await;
    desk.letters(9).await;
    desk.running("a").await;
    desk.pay_all((0..30).map(|n| format!("a{n}"))).await;
    desk.pay_later("b").await;
    desk.lab.run("truncate jobkit.audit").await;
    let all = DeadLetterFilter::all();
    let some = all.clone().key("none");
    let ids = desk.admin.dead_letters(&all, None, 2).await.unwrap().entries;
    let ids = ids.into_iter().map(|entry| entry.id).collect();
    let alice = desk.admin.acting_as("alice");
    let actions = [
        (BulkAction::Reschedule(query("state:scheduled"), None), 1),
        (BulkAction::Cancel(query("kind:pay")), 32),
        (BulkAction::Discard(query("")), 1),
        (BulkAction::Selected(Selected::DiscardDeadLetters(ids)), 2),
        (BulkAction::Replay(all.clone()), 7),
        (BulkAction::DiscardDeadLetters(all.clone()), 0),
        (BulkAction::Purge(some, Duration::ZERO), 0),
    ];
    for (n, (action, done)) in actions.into_iter().enumerate() {
        let begun = alice.begin_operation(&action, "a wrong deploy", &n.to_string()).await.unwrap();
        let ended = desk.finish(begun.id, 3).await;
        assert_eq!(ended.done, done, "{action:?}");
        let audit = desk.audit().await;
        assert_eq!(audit.len(), n + 1, "{action:?}: {audit:?}");
        let entry = &audit[0];
        assert_eq!((&*entry.action, entry.subject_id), ("begin", Some(begun.id)));
        assert_eq!(entry.actor.as_deref(), Some("alice"));
        let detail = &entry.detail;
        assert_eq!((&detail["verb"], &detail["state"]), (&action.verb().into(), &"done".into()));
        assert_eq!(detail["reason"], "a wrong deploy");
        assert_eq!(detail["done"], done);
    }
}

#[tokio::test]
async fn who_stops_an_operation_has_an_entry_and_the_beginning_says_how_far_it_came() {
    let desk = Desk::new().await;
    desk.pay_all((0..20).map(|n| format!("a{n}"))).await;
    let begun = desk.begin(&BulkAction::Cancel(JobQuery::default()), "k").await;
    desk.step(begun.id, 8).await;
    desk.step(begun.id, 8).await;
    assert!(desk.admin.acting_as("bob").operation(begun.id).cancel().await.unwrap());
    let noted = desk.noted().await;
    assert_eq!((&*noted[0].0, &*noted[1].0, noted.len()), ("cancel", "begin", 2));
    let begin = &noted[1].1;
    assert_eq!((&begin["state"], &begin["done"]), (&"cancelled".into(), &8.into()));
}

#[tokio::test]
async fn the_reason_of_a_cancel_is_kept_with_the_jobs() {
    let desk = Desk::new().await;
    let job = desk.pay("a").await;
    let other = desk.pay("b").await;
    desk.done(&BulkAction::Cancel(query("args.account:a")), "sent twice", "a").await;
    assert_eq!(desk.place(job).await, "cancel: sent twice");
    desk.done(&BulkAction::Discard(query("")), "", "b").await;
    assert_eq!(desk.place(other).await, "discard: discarded");
}

/// An id is given out by the enqueue, the job is there by the commit.
#[tokio::test]
async fn a_job_enqueued_in_a_transaction_that_was_open_at_the_beginning_is_meant() {
    let desk = Desk::new().await;
    let mut producer = desk.lab.session("producer").await;
    let early = "begin; select jobkit.enqueue('pay', '{}', p_concurrency_key => 'early')";
    producer.run(early).await.unwrap();
    let seen = desk.pay("seen").await;
    let begun = desk.begin(&BulkAction::Cancel(query("kind:pay")), "k").await;
    assert_eq!(begun.total, Some(1), "the other one is not there yet");
    let late = desk.pay("late").await;
    producer.run("commit").await.unwrap();
    let ended = desk.finish(begun.id, 500).await;
    assert_eq!((ended.total, ended.done), (Some(1), 2));
    assert_eq!(desk.place(seen).await, "cancel: cancelled");
    assert_eq!(desk.state(late).await, State::Ready, "its id is beyond the bound");
    assert_eq!(desk.lab.count("jobkit.jobs").await, 1);
}
