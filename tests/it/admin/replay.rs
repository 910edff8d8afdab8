//! Replays: of one dead letter, once; of many, page by page.

use chrono::{TimeDelta, Utc};
use jobkit::admin::AdminError;
use jobkit::admin::dead_letters::{DeadLetterFilter, DeadLetterId, DeadLetterState, ReplayError};
use jobkit::admin::jobs::State;
use jobkit::admin::operations::BulkAction;
use jobkit::error::{DatabaseError, InvalidValue};
use jobkit::{Admin, Enqueue, Job, JobContext, JobId, Registration, job};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::dead_letters::all;
use super::kit::{Desk, HOUR};

/// Waits until an operator waits for somebody.
async fn until_waiting(desk: &Desk) {
    let waits = "exists (select from pg_stat_activity where datname = current_database()
        and application_name = 'jobkit admin' and wait_event_type = 'Lock')";
    desk.lab.until(waits).await;
}

fn in_background(admin: &Admin, id: DeadLetterId) -> JoinHandle<Result<JobId, ReplayError>> {
    let admin = admin.clone();
    tokio::spawn(async move { admin.dead_letter(id).replay().await })
}

async fn state(desk: &Desk, id: DeadLetterId) -> DeadLetterState {
    desk.dead_letter(id).await.summary.state
}

#[tokio::test]
async fn a_replay_happens_once_and_resolves_when_it_succeeds() {
    let desk = Desk::new().await;
    let (id, first) = desk.dead("a").await;
    let job = desk.admin.acting_as("alice").dead_letter(id).replay().await.unwrap();
    assert_ne!(job, first);
    assert_eq!(desk.place(job).await, "ready");
    let dead = desk.dead_letter(id).await;
    assert_eq!((dead.summary.state, dead.replay), (DeadLetterState::Replaying, Some(job)));
    let error = desk.admin.dead_letter(id).replay().await.unwrap_err();
    assert!(matches!(error, ReplayError::AlreadyReplayed(other) if other == job), "{error}");
    let (n, claimed) = desk.claim().await;
    assert_eq!(claimed, [job]);
    desk.settle(n, job, "finish").await;
    let dead = desk.dead_letter(id).await;
    assert_eq!(dead.summary.state, DeadLetterState::Resolved);
    assert!(dead.resolved_at.is_some());
    let error = desk.admin.dead_letter(id).replay().await.unwrap_err();
    assert!(matches!(error, ReplayError::Resolved(other) if other == job), "{error}");
    let error = desk.admin.dead_letter(DeadLetterId(0)).replay().await.unwrap_err();
    assert!(matches!(error, ReplayError::NotFound), "{error}");
    let [entry] = &desk.audit().await[..] else { panic!("one thing was done") };
    assert_eq!((entry.actor.as_deref(), &*entry.action), (Some("alice"), "replay"));
    assert_eq!(entry.subject_id, Some(id.0));
    assert_eq!(entry.detail, json!({"job": job.0, "generation": 1}));
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn a_replay_that_is_cancelled_opens_the_dead_letter_again() {
    let desk = Desk::new().await;
    let (id, _) = desk.dead("a").await;
    let job = desk.admin.dead_letter(id).replay().run_at(Utc::now() + HOUR).await.unwrap();
    assert_eq!(desk.state(job).await, State::Scheduled);
    desk.admin.job(job).cancel().await.unwrap();
    let dead = desk.dead_letter(id).await;
    assert_eq!((dead.summary.state, dead.generation), (DeadLetterState::Open, 2));
    let again = desk.admin.dead_letter(id).replay().run_at(Utc::now() - HOUR).await.unwrap();
    assert_eq!(desk.state(again).await, State::Ready);
    assert_ne!(again, job);
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn a_replay_has_what_it_is_told_and_else_what_was_stored() {
    let desk = Desk::new().await;
    let (id, _) = desk.dead("a").await;
    let args = json!({"account": "größe", "more": [null, 1.5]});
    let replay = desk.admin.dead_letter(id).replay().queue("slow").attempts(7).args(args.clone());
    let job = replay.run_at(Utc::now() + HOUR).await.unwrap();
    let of = format!("from jobkit.jobs where id = {job}");
    let columns = "jsonb_build_array(queue, max_attempts, args, concurrency_group, concurrency_key,
        dead_letter_id, generation)";
    let stored: Value = desk.lab.value(&format!("select {columns} {of}")).await;
    assert_eq!(stored, json!(["slow", 7, args, "pay", "größe", id.0, 1]));
    assert_eq!(desk.dead_letter(id).await.args.reveal(), r#"{"account": "a"}"#);
    let [entry] = &desk.audit().await[..] else { panic!("one thing was done") };
    let replayed_with = entry.args.as_ref().unwrap().reveal();
    assert_eq!(serde_json::from_str::<serde_json::Value>(replayed_with).unwrap(), args);
    assert_eq!(
        (&entry.detail["queue"], &entry.detail["max_attempts"]),
        (&json!("slow"), &json!(7))
    );
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn a_payload_that_no_job_could_have_is_refused_and_nothing_changes() {
    let desk = Desk::new().await;
    let (id, _) = desk.dead("a").await;
    let account = |text: &str| json!({"account": text});
    let nested = (0..127).fold(json!(1), |value, _| json!([value]));
    for (args, what) in [
        (json!({"account": 7}), "the payload does not decode at `account`: invalid type"),
        (json!({}), "the payload does not decode at `.`: missing field `account`"),
        (json!(null), "the payload does not decode at `.`: "),
        (account("a\0b"), "the payload contains a NUL character"),
        (account(&"x".repeat(513)), "the concurrency key has 513 bytes"),
        (account(&"x".repeat(1024 * 1024)), "the payload has 1048590 bytes"),
        (json!({"account": "a", "deep": nested}), "the nesting of the payload is 128"),
    ] {
        let error = desk.admin.dead_letter(id).replay().args(args).await.unwrap_err();
        assert!(error.to_string().starts_with(what), "{error}");
        let decodes = !matches!(error, ReplayError::Undecodable(_));
        assert_eq!(decodes, !what.contains("decode"), "{error:?}");
    }
    for attempts in [0, 1001] {
        let error = desk.admin.dead_letter(id).replay().attempts(attempts).await.unwrap_err();
        assert!(
            matches!(error, ReplayError::Failed(AdminError::Invalid(InvalidValue::Range { .. }))),
            "{error}"
        );
    }
    for queue in ["", "a\0", &*"x".repeat(129)] {
        let error = desk.admin.dead_letter(id).replay().queue(queue).await.unwrap_err();
        let known = matches!(
            error,
            ReplayError::Failed(AdminError::Invalid(
                InvalidValue::Length { .. } | InvalidValue::Nul { .. }
            ))
        );
        assert!(known, "{error}");
    }
    let error = desk.admin.dead_letter(DeadLetterId(0)).replay().args(json!({})).await.unwrap_err();
    assert!(matches!(error, ReplayError::NotFound), "{error}");
    assert_eq!(state(&desk, id).await, DeadLetterState::Open);
    assert_eq!((desk.lab.count("jobkit.jobs").await, desk.audit().await.len()), (0, 0));
}

#[tokio::test]
async fn a_payload_of_a_kind_that_is_not_linked_is_taken_as_it_is() {
    let desk = Desk::new().await;
    let elsewhere = "update jobkit.dead_letters set kind = 'elsewhere', concurrency_group = 'g',
        concurrency_key = 'k', metadata = to_jsonb(repeat('x', 1000))";
    desk.alike(1).await;
    desk.lab.run(elsewhere).await;
    let id = DeadLetterId(1);
    let large = json!("x".repeat(1024 * 1024 - 1000));
    let error = desk.admin.dead_letter(id).replay().args(large).await.unwrap_err();
    assert!(
        matches!(error, ReplayError::Failed(AdminError::Invalid(InvalidValue::Length { .. }))),
        "{error}"
    );
    let job = desk.admin.dead_letter(id).replay().args(json!([1])).await.unwrap();
    let key =
        format!("select concurrency_group || concurrency_key from jobkit.jobs where id = {job}");
    assert_eq!(desk.lab.value::<String>(&key).await, "gk");
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn sql_replays_nothing_with_options_that_no_job_may_have() {
    let desk = Desk::new().await;
    let (id, _) = desk.dead("a").await;
    let mut session = desk.lab.session("operator").await;
    for option in ["p_queue => ''", "p_max_attempts => 0", "p_run_at => 'infinity'"] {
        let replay = session.run(&format!("select jobkit.replay({id}, {option})")).await;
        let error = replay.expect_err(option);
        assert_eq!(error.as_database_error().unwrap().code().unwrap(), "JK008", "{option}");
    }
    assert_eq!(desk.lab.count("jobkit.dead_letters where state = 'open'").await, 1);
}

#[tokio::test]
async fn who_comes_second_waits_and_is_told_of_the_first() {
    let desk = Desk::new().await;
    let (id, _) = desk.dead("a").await;
    let mut first = desk.lab.session("first").await;
    first.run("begin").await.unwrap();
    let sql = format!("select job_id from jobkit.replay({id})");
    let job = JobId(first.value(&sql).await.unwrap());
    let second = in_background(&desk.admin, id);
    until_waiting(&desk).await;
    first.run("commit").await.unwrap();
    let error = second.await.unwrap().unwrap_err();
    assert!(matches!(error, ReplayError::AlreadyReplayed(other) if other == job), "{error}");
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn who_does_not_let_go_makes_it_busy() {
    let desk = Desk::new().await;
    let (id, _) = desk.dead("a").await;
    let mut holder = desk.lab.session("holder").await;
    let hold = format!("select from jobkit.dead_letters where id = {id} for update");
    holder.run(&format!("begin; {hold}")).await.unwrap();
    let waiting = in_background(&desk.admin, id);
    until_waiting(&desk).await;
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(error, ReplayError::Failed(AdminError::Busy)), "{error}");
    let error = desk.admin.dead_letter(id).discard().await.unwrap_err();
    assert!(matches!(error, AdminError::Busy), "{error}");
    let replayed = desk.all(&BulkAction::Replay(all())).await;
    assert_eq!((replayed.done, replayed.skipped), (0, 1));
    holder.run("rollback").await.unwrap();
    assert_eq!(desk.all(&BulkAction::Replay(all())).await.done, 1);
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn what_cannot_be_noted_is_not_done() {
    let desk = Desk::new().await;
    let (id, _) = desk.dead("a").await;
    desk.lab.run("alter table jobkit.audit add constraint nothing check (false)").await;
    let error = desk.admin.dead_letter(id).replay().await.unwrap_err();
    assert!(
        matches!(error, ReplayError::Failed(AdminError::Database(DatabaseError::Failed(_)))),
        "{error}"
    );
    assert!(desk.try_all(&BulkAction::Replay(all())).await.is_err());
    assert!(desk.admin.dead_letter(id).discard().await.is_err());
    assert!(desk.try_all(&BulkAction::DiscardDeadLetters(all())).await.is_err());
    assert_eq!(state(&desk, id).await, DeadLetterState::Open);
    assert_eq!(desk.lab.count("jobkit.jobs").await, 0);
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn all_that_failed_before_are_replayed_in_that_order() {
    let desk = Desk::new().await;
    desk.alike(1_203).await;
    let tomorrow = "clock_timestamp() + interval '1 day'";
    let later = format!("update jobkit.dead_letters set failed_at = {tomorrow} where id = 9");
    desk.lab.run(&later).await;
    let resolved = BulkAction::Replay(all().state(DeadLetterState::Resolved));
    let none = desk.all(&resolved).await;
    assert_eq!((none.total, none.done, none.skipped), (Some(0), 0, 0));
    let mut seen = Vec::new();
    let alice = desk.admin.acting_as("alice");
    let open = BulkAction::Replay(all());
    let begun = alice.begin_operation(&open, "the bank is back", "once").await.unwrap();
    let replay = alice.operation(begun.id).run().progress(|now| seen.push(now.done));
    let replayed = replay.await.unwrap().unwrap();
    assert_eq!((replayed.done, replayed.skipped), (1_202, 0));
    assert_eq!(seen, [500, 1_000, 1_202]);
    let ordered = "bool_and(newer) from (select dead_letter_id >
        lag(dead_letter_id, 1, 0::bigint) over (order by id) as newer from jobkit.jobs) j";
    assert!(desk.lab.value::<bool>(&format!("select {ordered}")).await);
    let audit = desk.audit().await;
    assert_eq!((audit.len(), audit[0].actor.as_deref()), (2, Some("alice")));
    assert_eq!(audit[0].detail["done"], 1_202);
    assert_eq!(desk.all(&open).await.done, 0);
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn what_is_dropped_between_two_pages_loses_nothing() {
    let desk = Desk::new().await;
    desk.alike(1_100).await;
    let (seen, open) = (Notify::new(), BulkAction::Replay(all()));
    let begun = desk.admin.begin_operation(&open, "", "once").per_second(500).await.unwrap();
    let replay = desk.admin.operation(begun.id).run().progress(|_| seen.notify_one());
    tokio::select! {
        () = seen.notified() => {}
        ended = replay => panic!("{ended:?}"),
    }
    assert_eq!(desk.lab.count("jobkit.ready").await, 500);
    desk.lab.check_invariants().await;
    assert_eq!(desk.all(&open).await.done, 600);
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn no_more_are_replayed_in_a_second_than_asked_for() {
    let desk = Desk::new().await;
    desk.alike(9).await;
    let (mut seen, open) = (Vec::new(), BulkAction::Replay(all()));
    let begun = desk.admin.begin_operation(&open, "", "once").per_second(4).await.unwrap();
    assert_eq!(begun.per_second, Some(4));
    let replay = desk.admin.operation(begun.id).run();
    let ended = replay.progress(|now| seen.push(now.done)).await.unwrap().unwrap();
    seen.dedup();
    assert_eq!(seen, [4, 8, 9]);
    let took = ended.ended_at.unwrap() - ended.started_at.unwrap();
    assert!(took >= TimeDelta::seconds(2), "{took}");
    for rate in [0, 1_000_001] {
        let error = desk.admin.begin_operation(&open, "", "again").per_second(rate).await;
        assert!(
            matches!(error, Err(AdminError::Invalid(InvalidValue::Range { what: "rate", .. }))),
            "{error:?}"
        );
    }
}

/// Fails until it is corrected. Those of one account share a dead letter.
#[derive(Serialize, Deserialize)]
#[job(dead_letter_key = self.account, max_attempts = 1)]
struct Charge {
    account: String,
    corrected: bool,
}

impl Job for Charge {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        if self.corrected { Ok(()) } else { Err(format!("no answer to job {}", cx.id()).into()) }
    }
}

#[tokio::test]
async fn ten_failures_of_one_key_are_one_dead_letter_that_one_success_resolves() {
    let desk = Desk::without_worker().await;
    let worker = desk.lab.worker().jobs([Registration::of::<Charge, _>()]);
    let worker = worker.queue("default", 2).start().await.unwrap();
    let charge = Charge { account: "a".to_owned(), corrected: false };
    let first = charge.enqueue(desk.lab.pool()).await.unwrap();
    let filter = DeadLetterFilter::all().kind("charge").key("a");
    let open = |cycles| format!("count(*) = 1 from jobkit.dead_letters where cycles = {cycles}");
    desk.lab.until(&open(1)).await;
    let page = desk.admin.dead_letters(&filter, None, 10).await.unwrap();
    let id = page.entries[0].id;
    for cycle in 2..=10 {
        desk.admin.dead_letter(id).replay().await.unwrap();
        desk.lab.until(&open(cycle)).await;
    }
    assert_eq!(desk.lab.count("jobkit.dead_letters").await, 1);
    let dead = desk.dead_letter(id).await;
    assert_eq!((dead.summary.state, dead.summary.cycles), (DeadLetterState::Open, 10));
    assert_eq!((dead.summary.attempts, dead.generation), (10, 10));
    assert_eq!((dead.errors.len(), dead.errors[0].job), (10, first));
    assert!(dead.errors.is_sorted_by_key(|attempt| attempt.job));
    assert_eq!(dead.errors[9].error, format!("no answer to job {}", dead.job));
    assert!(dead.summary.failed_at - dead.summary.first_failed_at > TimeDelta::zero());
    let [group] = &desk.admin.dead_letter_groups(10).await.unwrap()[..] else { panic!("one") };
    assert_eq!((&group.fingerprint, group.sample), (&dead.summary.fingerprint, id));
    let corrected = json!({"account": "b", "corrected": true});
    desk.admin.dead_letter(id).replay().args(corrected).await.unwrap();
    desk.lab.until("count(*) = 1 from jobkit.dead_letters where state = 'resolved'").await;
    let dead = desk.dead_letter(id).await;
    assert_eq!((dead.summary.key.as_deref(), dead.summary.cycles), (Some("a"), 10));
    worker.stop().await;
    desk.lab.check_invariants().await;
}
