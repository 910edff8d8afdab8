//! Why a job does not run.

use std::collections::BTreeSet;
use std::time::Duration;

use jobkit::admin::AdminError;
use jobkit::admin::explain::{Explanation, Reason};
use jobkit::admin::limits::{Change, LimitFilter, Rate, Scope};
use jobkit::error::InvalidValue;
use jobkit::unique::{Enqueued, OnDuplicate};
use jobkit::{Batch, Enqueue, JobId};
use jobkit_tests::wait;

use super::kit::{Desk, WORKER};
use crate::jobs::{Noop, Slow};

async fn explain(desk: &Desk, job: JobId) -> Explanation {
    desk.admin.job(job).explain().await.unwrap().expect("it is there")
}

/// The sentence, and the names of all reasons.
async fn told(desk: &Desk, job: JobId) -> (String, Vec<String>) {
    let Explanation { sentence, reasons, .. } = explain(desk, job).await;
    let name = |reason: &Reason| {
        let text = format!("{reason:?}");
        text.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
    };
    assert_eq!(sentence, reasons[0].to_string());
    (sentence, reasons.iter().map(name).collect())
}

/// A sentence with a time in it: what is before, and what is after.
fn around_time(sentence: &str) -> (&str, &str) {
    let (before, rest) = sentence.split_once(" 20").unwrap();
    (before, rest.split_once(" UTC").unwrap().1)
}

#[tokio::test]
async fn a_job_whose_time_has_not_come() {
    let desk = Desk::new().await;
    let job = desk.pay_later("a").await;
    let (sentence, reasons) = told(&desk, job).await;
    assert_eq!(around_time(&sentence), ("Scheduled until", ""));
    assert_eq!(reasons, ["Scheduled"]);
    desk.admin.acting_as("ada").queue("default").pause("").await.unwrap();
    assert_eq!(told(&desk, job).await.1, ["Scheduled", "Paused"]);
    // Once it is due, what keeps it is something else.
    desk.lab
        .run(
            "update jobkit.jobs set run_at = now() - interval '1 s';
            update jobkit.scheduled set run_at = (select run_at from jobkit.jobs)",
        )
        .await;
    assert_eq!(told(&desk, job).await.1, ["Paused", "Scheduled"]);
}

#[tokio::test]
async fn a_job_that_waits_for_a_permit() {
    let desk = Desk::new().await;
    desk.limit(2).await;
    let jobs = desk.pay_all((0..8).map(|_| "acme".to_owned())).await;
    desk.claim().await;
    let key = format!("pay/acme (limit 2, both permits held by jobs {} and {})", jobs[0], jobs[1]);
    let (sentence, reasons) = told(&desk, jobs[4]).await;
    assert_eq!(sentence, format!("Blocked: 3rd of 6 for {key}"));
    assert_eq!(reasons, ["Blocked"]);
    match &explain(&desk, jobs[7]).await.reasons[..] {
        [Reason::Blocked { position: 6, blocked: 6, key }] => {
            assert_eq!((key.limit, key.taken, &*key.holders), (2, 2, &jobs[..2]));
        }
        other => panic!("{other:?}"),
    }
    // One that has not been looked at yet will have to wait, too.
    let late = desk.pay("acme").await;
    let (sentence, reasons) = told(&desk, late).await;
    assert_eq!(sentence, format!("Ready, but no permit is left for {key}"));
    assert_eq!(reasons, ["AtLimit", "Ahead"]);
    // A pause comes first: not even a free permit would help.
    desk.admin.acting_as("ada").queue("default").pause("the gateway is down").await.unwrap();
    let (sentence, reasons) = told(&desk, jobs[4]).await;
    let around = ("Its queue default is paused by ada since", ": the gateway is down");
    assert_eq!(around_time(&sentence), around);
    assert_eq!(reasons, ["Paused", "Blocked"]);
}

#[tokio::test]
async fn a_key_that_an_operator_stopped() {
    let desk = Desk::new().await;
    desk.limit(0).await;
    let job = desk.blocked("a").await;
    let sentence = "Blocked: 1st of 1 for pay/a (limit 0, no permit taken)";
    assert_eq!(told(&desk, job).await.0, sentence);
}

#[tokio::test]
async fn a_queue_nobody_serves_and_a_kind_nobody_knows() {
    let desk = Desk::new().await;
    let lost = Noop.options().queue("lost").enqueue(desk.lab.pool()).await.unwrap();
    let (sentence, reasons) = told(&desk, lost).await;
    assert_eq!(sentence, "No live worker serves its queue lost");
    assert_eq!(reasons, ["Unserved", "Ahead"]);
    let unknown = Slow.enqueue(desk.lab.pool()).await.unwrap();
    let (sentence, reasons) = told(&desk, unknown).await;
    assert_eq!(sentence, "No live worker of its queue default knows the kind slow");
    assert_eq!(reasons, ["UnknownKind", "Ahead"]);
    for gone in ["stopping = true", "stopping = false, lease_until = clock_timestamp()"] {
        desk.lab.run(&format!("update jobkit.workers set {gone}")).await;
        assert_eq!(told(&desk, unknown).await.0, "No live worker serves its queue default");
    }
}

#[tokio::test]
async fn a_job_whose_turn_has_not_come() {
    let desk = Desk::new().await;
    let queue = async |priority, count| {
        let jobs = (0..count).map(|_| Noop.options().queue("slow").priority(priority));
        jobkit::enqueue_all(jobs, desk.lab.pool()).await.unwrap().remove(0)
    };
    let job = queue(0, 1).await;
    queue(0, 5).await;
    assert_eq!(told(&desk, job).await.0, "Ready: next in its queue slow");
    queue(-1, 1).await;
    assert_eq!(told(&desk, job).await.0, "Ready: 1 job of its queue slow is ahead of it");
    queue(-3, 12_000).await;
    let (sentence, reasons) = told(&desk, job).await;
    assert_eq!(sentence, "Ready: 10,000+ jobs of its queue slow are ahead of it");
    assert_eq!(reasons, ["Ahead"]);
    match explain(&desk, job).await.reasons[..] {
        [Reason::Ahead { jobs: 10_000, .. }] => {}
        ref other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn workers_without_a_free_slot() {
    let desk = Desk::new().await;
    let slow = || Noop.options().queue("slow");
    // Two of the slow queue run, and ten of another.
    jobkit::enqueue_all((0..2).map(|_| slow()), desk.lab.pool()).await.unwrap();
    desk.claim_of("slow").await;
    jobkit::enqueue_all((0..10).map(|_| Noop), desk.lab.pool()).await.unwrap();
    desk.claim().await;
    let job = slow().enqueue(desk.lab.pool()).await.unwrap();
    let (sentence, reasons) = told(&desk, job).await;
    let full = "Ready, but no worker has a slot free for its queue slow: 2 of 2 taken";
    assert_eq!(sentence, full);
    assert_eq!(reasons, ["Busy", "Ahead"]);
    // Another worker counts if it knows the kind, and one that does not say has slots.
    let register = "select jobkit.register(2, 'other', '{slow}', '{pay}', '1 day', '{5}')";
    desk.lab.run(register).await;
    assert_eq!(told(&desk, job).await.0, full);
    desk.lab.run("select jobkit.register(3, 'old', '{slow}', '{noop}', '1 day')").await;
    assert_eq!(told(&desk, job).await.1, ["Ahead"]);
}

#[tokio::test]
async fn a_job_that_is_marked_or_runs_or_has_ended() {
    let desk = Desk::new().await;
    assert!(desk.admin.job(JobId(-1)).explain().await.unwrap().is_none());
    let (n, job) = desk.running("a").await;
    let (sentence, reasons) = told(&desk, job).await;
    assert_eq!(around_time(&sentence), ("Running since", &*format!(" on worker {WORKER:x}")));
    assert_eq!(reasons, ["Running"]);
    desk.admin.job(job).cancel().await.unwrap();
    assert_eq!(told(&desk, job).await.1, ["Running", "CancelRequested"]);
    desk.settle(n, job, "retry").await;
    assert_eq!(around_time(&told(&desk, job).await.0), ("Cancelled at", ""));

    let marked = desk.pay("a").await;
    desk.lab.run(&format!("select jobkit.cancel_mark('{{{marked}}}')")).await;
    let (sentence, reasons) = told(&desk, marked).await;
    let around = ("Marked as cancelled since", ": a worker will end it");
    assert_eq!(around_time(&sentence), around);
    assert_eq!(reasons, ["CancelRequested", "Ahead"]);
    desk.admin.job(marked).discard("nobody\nneeds it").await.unwrap();
    let sentence = told(&desk, marked).await.0;
    assert_eq!(around_time(&sentence), ("Discarded at", ": nobody\nneeds it"));

    for (outcome, around) in
        [("finish", ("Finished at", "")), ("bury", ("Dead letter since", " (exhausted): why"))]
    {
        let (n, job) = desk.running("a").await;
        desk.settle(n, job, outcome).await;
        assert_eq!(around_time(&told(&desk, job).await.0), around);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_worker_tells_how_many_slots_it_has() {
    let desk = Desk::without_worker().await;
    let worker = desk.start().await;
    let slots: Vec<i32> = desk.lab.value("select slots from jobkit.workers").await;
    assert_eq!(slots, [10, 10]);
    let jobs = desk.pay_all((0..11).map(|i| i.to_string())).await;
    let busy = async || told(&desk, jobs[10]).await.1 == ["Busy", "Ahead"];
    wait(Duration::from_secs(30), "every slot is taken", busy).await;
    let full = "Ready, but no worker has a slot free for its queue default: 10 of 10 taken";
    assert_eq!(told(&desk, jobs[10]).await.0, full);
    // Reaped, it comes back under another id, and tells it again.
    desk.lab.run("update jobkit.workers set id = id - 1").await;
    desk.lab.until("count(*) = 2 from jobkit.workers").await;
    assert_eq!(desk.lab.count("jobkit.workers where slots = '{10,10}'").await, 2);
    desk.go().await;
    worker.stop().await;
}

/// With statistics that know of none of them.
#[tokio::test]
async fn an_explanation_reads_few_rows_whatever_the_backlog() {
    let desk = Desk::new().await;
    desk.lab
        .run(
            "alter table jobkit.jobs set (autovacuum_enabled = off);
            alter table jobkit.ready set (autovacuum_enabled = off);
            alter table jobkit.blocked_executions set (autovacuum_enabled = off);
            analyze jobkit.jobs, jobkit.ready, jobkit.blocked_executions;
            insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at, created_at,
                concurrency_group, concurrency_key, args)
            select i, 'pay', 'default', 0, 3, now(), now(), 'pay', 'a', '{}'
            from generate_series(1, 300000) i;
            insert into jobkit.ready (queue, priority, job_id, kind, concurrency_group,
                concurrency_key)
            select queue, priority, id, kind, concurrency_group, concurrency_key
            from jobkit.jobs where id <= 150000;
            insert into jobkit.blocked_executions (concurrency_group, concurrency_key, priority,
                job_id, queue, kind)
            select concurrency_group, concurrency_key, priority, id, queue, kind
            from jobkit.jobs where id > 150000",
        )
        .await;
    let desk = desk.afresh().await;
    let scanned = "select sum(seq_tup_read)::bigint from pg_stat_user_tables
        where relname in ('jobs', 'ready', 'blocked_executions')";
    let before: i64 = desk.lab.value(scanned).await;
    let sentence = told(&desk, JobId(150_000)).await.0;
    assert_eq!(sentence, "Ready: 10,000+ jobs of its queue default are ahead of it");
    let sentence = told(&desk, JobId(300_000)).await.0;
    assert!(sentence.starts_with("Blocked: 10000th or later of 10,000+ for pay/a"), "{sentence}");
    desk.hang_up().await;
    assert_eq!(desk.lab.value::<i64>(scanned).await, before, "whole tables were read");
}

#[tokio::test]
async fn a_kind_of_which_as_many_run_as_may() {
    let desk = Desk::new().await;
    let _ = desk.admin.kind("noop").set(&Change::new().running(1)).await.unwrap();
    let [first, second] = [0, 1].map(|_| Noop.options().enqueue(desk.lab.pool()));
    first.await.unwrap();
    desk.claim().await;
    let (sentence, reasons) = told(&desk, second.await.unwrap()).await;
    assert_eq!(sentence, "Ready, but its kind noop has 1 of at most 1 running");
    assert_eq!(&*reasons[0], "Limited");
}

#[tokio::test]
async fn a_job_that_runs_again_after_the_one_that_has_its_key() {
    let desk = Desk::new().await;
    let again = || Noop.options().unique_key("k").on_duplicate(OnDuplicate::RunAgain);
    let first = again().enqueue_unique(desk.lab.pool()).await.unwrap().id();
    desk.claim().await;
    let follower = again().enqueue_unique(desk.lab.pool()).await.unwrap();
    let Enqueued::New(follower) = follower else { panic!("{follower:?}") };
    let (sentence, reasons) = told(&desk, follower).await;
    let follows = format!("Waits until job {first}, which holds its unique key, ends");
    assert_eq!((sentence, &*reasons[0]), (follows, "Follows"));
    assert!(!reasons.contains(&"Scheduled".to_owned()), "its time is no time: {reasons:?}");
    let later = again().after(Duration::from_secs(3600)).enqueue_unique(desk.lab.pool()).await;
    assert_eq!(later.unwrap().id(), follower);
    assert_eq!(told(&desk, follower).await.1[..2], ["Follows", "Scheduled"]);
}

/// A producer that found it has not ended its transaction; two have.
#[tokio::test]
async fn a_job_that_producers_have_in_hand() {
    let desk = Desk::new().await;
    let once = || Noop.options().unique_key("k");
    for delayed in [false, true] {
        let job = match delayed {
            false => once().enqueue(desk.lab.pool()).await.unwrap(),
            true => once().after(Duration::from_millis(1)).enqueue(desk.lab.pool()).await.unwrap(),
        };
        let mut open = Vec::new();
        for sessions in 1..=2 {
            let mut session = desk.lab.session("shop").await;
            session.run("begin").await.unwrap();
            once().enqueue(&mut session.connection).await.unwrap();
            open.push(session);
            let why = explain(&desk, job).await;
            let [Reason::InHand(hands)] = &why.reasons[..1] else { panic!("{why:?}") };
            let pids = |pids: &mut dyn Iterator<Item = i32>| pids.collect::<BTreeSet<_>>();
            let held = pids(&mut hands.iter().map(|hand| hand.pid));
            assert_eq!(held, pids(&mut open.iter().map(|session| session.pid)));
            assert!(hands.len() == sessions && hands.iter().all(|hand| hand.since.is_some()));
            assert!(why.sentence.contains(&format!("session {}", open[0].pid)), "{why:?}");
        }
        for mut session in open {
            session.run("commit").await.unwrap();
        }
        assert!(!told(&desk, job).await.1.contains(&"InHand".to_owned()));
        let tables = ["ready", "scheduled", "unique_keys", "jobs"];
        desk.lab.run(&tables.map(|table| format!("delete from jobkit.{table};")).concat()).await;
    }
}

/// A pause of its kind comes before what it waits for; a limit or a rate counts once it is ready.
#[tokio::test]
async fn what_holds_back_its_kind_or_its_queue() {
    let desk = Desk::new().await;
    let admin = desk.admin.clone().acting_as("ada");
    let (kind, queue) = (Scope::Kind("pay".into()), Scope::Queue("default".into()));
    let job = desk.pay("acme").await;
    let kind_of: String = desk.lab.value("select kind from jobkit.jobs").await;
    let kind = if kind_of == "pay" { kind } else { Scope::Kind(kind_of.clone()) };
    let slow = Change::new().rate(Rate::per(1, Duration::from_secs(60)));
    let _ = admin.limit(queue.clone()).set(&slow).await.unwrap();
    assert!(!told(&desk, job).await.1.contains(&"Limited".to_owned()));
    desk.lab.run("update jobkit.turns set tat = tat + interval '1 h'").await;
    let (sentence, reasons) = told(&desk, job).await;
    let rate = "at most 1/min, burst 1";
    let held = format!("Ready, but its queue default is limited: {rate}");
    assert_eq!((sentence, &*reasons[0]), (held, "Limited"));
    admin.limit(kind.clone()).pause("wrong amounts").await.unwrap();
    let (sentence, reasons) = told(&desk, job).await;
    let paused = format!("Its kind {kind_of} is paused by ada since");
    assert_eq!(around_time(&sentence), (&*paused, ": wrong amounts"));
    assert_eq!(&*reasons[0], "Paused");
    admin.everything().pause("").await.unwrap();
    assert!(told(&desk, job).await.0.starts_with("Everything is paused by ada since"));
    let limits = LimitFilter::all().of(&["all", "kind", "queue"]);
    let limits = admin.limits(&limits).await.unwrap();
    let scopes: Vec<_> = limits.iter().map(|limit| limit.scope.clone()).collect();
    assert_eq!(scopes, [Scope::All, queue, kind]);
    assert_eq!(limits[1].most_often().unwrap().burst, 1);
    for refused in [
        admin.everything().set(&Change::new().running(1)).await.unwrap_err(),
        admin.kind(&kind_of).set(&Change::new().running(1_000_001)).await.unwrap_err(),
        admin.kind("").pause("").await.unwrap_err(),
    ] {
        assert!(
            matches!(
                refused,
                AdminError::Invalid(
                    InvalidValue::Length { .. }
                        | InvalidValue::Range { .. }
                        | InvalidValue::Limit { .. }
                )
            ),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_callback_whose_batch_has_not_ended() {
    let desk = Desk::new().await;
    let mut connection = desk.lab.pool().acquire().await.unwrap();
    let batch = Batch::new().then(Noop).then_if_all(Noop).or_else(Noop).hold_dead();
    let batch = batch.open(&mut connection).await.unwrap();
    let id = batch.id();
    let summary = desk.admin.batch(id).get().await.unwrap().expect("it is open").summary;
    let [then, if_all, or_else] =
        [summary.then, summary.then_if_all, summary.or_else].map(Option::unwrap);
    let (sentence, reasons) = told(&desk, then).await;
    assert!(sentence.starts_with(&format!("Nobody has closed batch {id}")), "{sentence}");
    assert_eq!(reasons, ["Unclosed", "AwaitsBatch"]);
    let jobs = batch.add((0..3).map(|_| Noop), &mut connection).await.unwrap();
    let (sentence, reasons) = told(&desk, then).await;
    assert_eq!(sentence, format!("Waits for batch {id}: 3 of 3 members have not ended"));
    assert_eq!(reasons, ["AwaitsBatch", "Unclosed"]);
    batch.close(&mut connection).await.unwrap();
    let (n, _) = desk.claim().await;
    desk.settle(n, jobs[0].id(), "finish").await;
    desk.settle(n, jobs[1].id(), "bury").await;
    let left = "1 of 3 members has not ended";
    let (sentence, reasons) = told(&desk, if_all).await;
    let why = "it will be discarded, since 1 of them did not succeed";
    assert_eq!(sentence, format!("Waits for batch {id}: {left}; {why}"));
    assert_eq!(reasons, ["AwaitsBatch", "HeldByDead"]);
    let (sentence, _) = told(&desk, or_else).await;
    assert_eq!(sentence, format!("Runs if a member of batch {id} fails for good: {left}"));
    desk.settle(n, jobs[2].id(), "finish").await;
    desk.lab.run("select jobkit.look_at_batches(100)").await;
    let reasons = explain(&desk, then).await.reasons;
    let held = format!("A dead letter keeps batch {id} open: replay or discard it");
    assert_eq!(reasons[1].to_string(), held);
    assert_eq!(told(&desk, or_else).await.1, ["Ahead"], "it is due");
}
