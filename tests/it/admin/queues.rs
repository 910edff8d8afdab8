//! Paused queues.

use std::time::Duration;

use jobkit::Enqueue;
use jobkit::admin::AdminError;
use jobkit::admin::jobs::State;
use jobkit::admin::limits::{LimitFilter, Scope};
use jobkit::error::InvalidValue;
use jobkit_tests::wait;

use super::kit::Desk;
use crate::jobs::Noop;

#[tokio::test(flavor = "multi_thread")]
async fn no_job_of_a_paused_queue_starts_until_it_is_resumed() {
    let desk = Desk::without_worker().await;
    let worker = desk.start().await;
    assert!(desk.admin.acting_as("ada").queue("slow").pause("the gateway is down").await.unwrap());
    let jobs = (0..20).map(|_| Noop.options().queue("slow"));
    jobkit::enqueue_all(jobs, desk.lab.pool()).await.unwrap();
    let kept = desk.pay_in("slow", "a").await;
    // The worker has looked at both queues by the time it is through with these.
    for _ in 0..3 {
        let other = Noop.enqueue(desk.lab.pool()).await.unwrap();
        desk.lab.until(&format!("not exists (select from jobkit.jobs where id = {other})")).await;
    }
    assert_eq!(desk.lab.count("jobkit.ready where queue = 'slow'").await, 21);
    assert_eq!(desk.state(kept).await, State::Ready);
    assert!(desk.admin.queue("slow").resume().await.unwrap());
    desk.go().await;
    desk.lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn a_pause_says_since_when_by_whom_and_why() {
    let desk = Desk::new().await;
    let only_paused = LimitFilter::all().paused();
    let paused = async || desk.admin.limits(&only_paused).await.unwrap();
    assert_eq!(paused().await, []);
    assert!(desk.admin.acting_as("ada").queue("slow").pause("first").await.unwrap());
    let first = paused().await.remove(0);
    let scope = Scope::Queue("slow".into());
    let first = first.paused.filter(|_| first.scope == scope).unwrap();
    assert_eq!(first.actor.as_deref(), Some("ada"));
    assert!(!desk.admin.acting_as("a\0").queue("slow").pause(&"ü".repeat(2048)).await.unwrap());
    desk.lab.run("select jobkit.pause_limit('queue', 'by hand')").await;
    let limits = paused().await;
    let queues: Vec<_> = limits.iter().map(|limit| limit.scope.name()).collect();
    assert_eq!(queues, ["by hand", "slow"]);
    let [by_hand, slow] = [0, 1].map(|at: usize| limits[at].paused.clone().unwrap());
    assert_eq!((by_hand.actor, by_hand.reason), (None, None));
    assert_eq!((slow.since, slow.actor.as_deref()), (first.since, Some("a\\0")));
    assert_eq!(slow.reason.as_deref(), Some(&*"ü".repeat(2048)));
    assert!(desk.admin.queue("slow").resume().await.unwrap());
    assert!(!desk.admin.queue("slow").resume().await.unwrap());
    assert!(!desk.admin.queue("never seen").resume().await.unwrap());
    assert_eq!(paused().await.len(), 1);
}

#[tokio::test]
async fn a_queue_without_a_fitting_name_is_refused() {
    let desk = Desk::new().await;
    let long = "x".repeat(129);
    for (queue, bytes) in [("", 0), (&*long, 129)] {
        let refused = |error: AdminError| match error {
            AdminError::Invalid(InvalidValue::Length {
                what: "queue",
                bytes: found,
                limit: 128,
            }) => assert_eq!(found, bytes),
            other => panic!("{other}"),
        };
        refused(desk.admin.queue(queue).pause("").await.unwrap_err());
        refused(desk.admin.queue(queue).resume().await.unwrap_err());
    }
    let error = desk.admin.queue("a\0b").pause("").await.unwrap_err();
    assert!(matches!(error, AdminError::Invalid(InvalidValue::Nul { what: "queue" })), "{error}");
    assert!(desk.admin.queue(&long[1..]).pause("").await.unwrap());
}

#[tokio::test]
async fn holders_of_a_paused_queue_give_their_permits_to_others() {
    let desk = Desk::new().await;
    let slow = desk.pay_in("slow", "a").await;
    let (n, claimed) = desk.claim_of("slow").await;
    assert_eq!(claimed, [slow]);
    let next = desk.blocked("a").await;
    desk.settle(n, slow, "release").await;
    assert_eq!(desk.place(slow).await, "ready with a permit");
    desk.admin.acting_as("ada").queue("slow").pause("").await.unwrap();
    assert_eq!(desk.place(slow).await, "blocked");
    assert_eq!(desk.place(next).await, "ready with a permit");
    desk.lab.check_invariants().await;
    // Of a paused queue nothing gets a permit, even when all are free.
    desk.admin.job(next).cancel().await.unwrap();
    assert_eq!(desk.place(slow).await, "blocked");
    assert!(desk.claim_of("slow").await.1.is_empty());
    desk.lab.check_invariants().await;
    desk.admin.queue("slow").resume().await.unwrap();
    assert_eq!(desk.place(slow).await, "ready with a permit");
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn a_resume_unblocks_every_key_at_once() {
    let desk = Desk::new().await;
    // More keys than a sweep looks at in one go, all blocked.
    desk.limit(0).await;
    desk.pay_all((0..2_200).map(|i| (i % 1_100).to_string())).await;
    while desk.lab.count("jobkit.ready").await > 0 {
        desk.claim().await;
    }
    desk.admin.acting_as("ada").queue("default").pause("").await.unwrap();
    desk.limit(1).await;
    assert_eq!(desk.lab.count("jobkit.permits").await, 0);
    desk.lab.check_invariants().await;
    desk.admin.queue("default").resume().await.unwrap();
    assert_eq!(desk.lab.count("jobkit.permits").await, 1_100);
    assert_eq!(desk.lab.count("jobkit.ready where not without_permit").await, 1_100);
    desk.lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_when_its_queue_is_paused_goes_on() {
    let desk = Desk::without_worker().await;
    let worker = desk.start().await;
    let job = desk.pay("a").await;
    let runs = async || desk.state(job).await == State::Running;
    wait(Duration::from_secs(30), "it runs", runs).await;
    desk.admin.acting_as("ada").queue("default").pause("").await.unwrap();
    assert_eq!(desk.state(job).await, State::Running);
    desk.go().await;
    desk.lab.until("not exists (select from jobkit.jobs)").await;
    assert_eq!(desk.place(job).await, "finish");
    worker.stop().await;
}
