//! What operators did: every write leaves an entry, in its own transaction.

use std::time::Duration;

use jobkit::admin::audit::{AuditEntry, AuditFilter};
use jobkit::admin::jobs::{Cancelled, Rescheduled, State};
use jobkit::admin::limits::{Change, LimitFilter, Limited, To};
use jobkit::admin::workers::StopRequest;
use jobkit::{Admin, Enqueue};
use jobkit_tests::wait;
use serde_json::{Value, json};

use super::kit::{Desk, HOUR, WORKER};
use crate::jobs::{Act, Noop, Then};

impl Desk {
    fn ada(&self) -> Admin {
        self.admin.acting_as("ada")
    }

    /// The only entry, which is ada's, and forgets it: action, subject, its id and name, detail.
    async fn entry(&self) -> (String, String, Option<i64>, Option<String>, Value) {
        let mut audit = self.audit().await;
        assert_eq!(audit.len(), 1, "{audit:?}");
        let AuditEntry { actor, action, subject, subject_id, subject_name, detail, .. } =
            audit.remove(0);
        assert_eq!(actor.as_deref(), Some("ada"));
        self.lab.run("truncate jobkit.audit").await;
        (action, subject, subject_id, subject_name, detail)
    }

    /// The same, as long as it is about one thing.
    async fn is_noted(&self, action: &str, subject: &str, id: Option<i64>, name: Option<&str>) {
        let entry = self.entry().await;
        let expected = (action, subject, id, name);
        assert_eq!((&*entry.0, &*entry.1, entry.2, entry.3.as_deref()), expected);
    }
}

#[tokio::test]
async fn a_pause_and_a_resume_are_noted() {
    let desk = Desk::new().await;
    desk.ada().queue("slow").pause("the gateway is down").await.unwrap();
    let (action, subject, id, name, detail) = desk.entry().await;
    assert_eq!((&*action, &*subject, id), ("pause", "queue", None));
    assert_eq!(name.as_deref(), Some("slow"));
    assert_eq!(detail, json!({ "reason": "the gateway is down" }));
    desk.ada().queue("slow").resume().await.unwrap();
    desk.is_noted("resume", "queue", None, Some("slow")).await;
    assert!(!desk.ada().queue("slow").resume().await.unwrap());
    assert_eq!(desk.audit().await, []);
}

#[tokio::test]
async fn a_limit_is_noted_with_the_one_before() {
    let desk = Desk::new().await;
    let _ = desk.ada().group("pay").set(&Change::new().running(7)).await.unwrap();
    let (action, subject, _, name, detail) = desk.entry().await;
    assert_eq!((&*action, &*subject), ("limit", "group"));
    assert_eq!(
        (name.as_deref(), detail),
        (Some("pay"), json!({ "before": {}, "after": { "running": 7 } }))
    );
    let _ = desk.ada().group("pay").set(&Change::new().running(To::Reset)).await.unwrap();
    assert_eq!(desk.entry().await.4, json!({ "before": { "running": 7 }, "after": {} }));
    let _ = desk.ada().key("pay", "a").set(&Change::new().running(3)).await.unwrap();
    let (action, subject, _, name, detail) = desk.entry().await;
    assert_eq!((&*action, &*subject, name.as_deref()), ("limit", "key", Some("a")));
    assert_eq!(detail, json!({ "group": "pay", "before": {}, "after": { "running": 3 } }));
    let _ = desk.ada().key("pay", "a").set(&Change::new().running(4)).await.unwrap();
    assert_eq!(desk.entry().await.4["before"]["running"], 3);
    let (ada, reset) = (desk.ada(), Change::new().running(To::Reset));
    assert_eq!(ada.group("?").set(&reset).await.unwrap(), Limited::Unknown);
    assert_eq!(ada.key("?", "a").set(&reset).await.unwrap(), Limited::Unknown);
    assert_eq!(desk.audit().await, []);
}

#[tokio::test]
async fn the_end_of_a_job_and_another_time_for_it_are_noted() {
    let desk = Desk::new().await;
    let job = desk.pay("a").await;
    desk.ada().job(job).cancel().await.unwrap();
    desk.is_noted("cancel", "job", Some(job.0), None).await;
    assert_eq!(desk.ada().job(job).cancel().await.unwrap(), Cancelled::NotFound);
    assert_eq!(desk.audit().await, []);

    let job = desk.pay("a").await;
    desk.ada().job(job).discard("a mistake").await.unwrap();
    let entry = desk.entry().await;
    assert_eq!(
        (&*entry.0, entry.2, entry.4),
        (
            "discard",
            Some(job.0),
            json!({
                "reason": "a mistake"
            })
        )
    );

    let job = desk.pay_later("a").await;
    desk.ada().job(job).reschedule(None).await.unwrap();
    desk.is_noted("reschedule", "job", Some(job.0), None).await;
    assert_eq!(desk.claim().await.1, [job]);
    assert_eq!(desk.ada().job(job).reschedule(None).await.unwrap(), Rescheduled::Running);
    assert_eq!(desk.audit().await, []);
}

/// The insert of the entry fails, and so does what it would have told of.
#[tokio::test]
async fn nothing_is_done_that_cannot_be_noted() {
    let desk = Desk::new().await;
    let (job, later) = (desk.pay("a").await, desk.pay_later("b").await);
    desk.lab.run("alter table jobkit.audit add check (actor is distinct from 'ada')").await;
    desk.ada().queue("slow").pause("").await.unwrap_err();
    desk.ada().group("pay").set(&Change::new().running(9)).await.unwrap_err();
    desk.ada().key("pay", "a").set(&Change::new().running(9)).await.unwrap_err();
    desk.ada().job(job).cancel().await.unwrap_err();
    desk.ada().job(later).reschedule(None).await.unwrap_err();
    desk.ada().worker(WORKER).stop().await.unwrap_err();
    let paused = LimitFilter::all().paused();
    assert_eq!(desk.admin.limits(&paused).await.unwrap(), []);
    let group = desk.admin.group("pay").get().await.unwrap().unwrap();
    assert!(!group.is_overridden());
    assert_eq!(desk.lab.count("jobkit.semaphores").await, 0);
    assert!(!desk.job(job).await.cancel_requested);
    assert_eq!(desk.state(later).await, State::Scheduled);
    assert_eq!(desk.admin.workers().await.unwrap()[0].stop_requested_at, None);
    desk.admin.acting_as("bob").queue("slow").pause("").await.unwrap();
    desk.ada().queue("slow").resume().await.unwrap_err();
    assert_eq!(desk.admin.limits(&paused).await.unwrap().len(), 1);
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn the_audit_is_read_page_by_page() {
    let desk = Desk::without_worker().await;
    assert_eq!(desk.audit().await, []);
    desk.lab.run("select jobkit.note(null, 'a', 'b', i, null) from generate_series(1, 25) i").await;
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = desk.admin.audit(&AuditFilter::all(), after, 10).await.unwrap();
        found.extend(page.entries.into_iter().filter_map(|entry| entry.subject_id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, (1..=25).rev().collect::<Vec<_>>());
    let all = AuditFilter::all();
    assert_eq!(desk.admin.audit(&all, None, 0).await.unwrap().entries.len(), 1);
    assert_eq!(desk.admin.audit(&all, None, 1_000_000).await.unwrap().entries.len(), 25);
}

#[tokio::test]
async fn the_audit_is_found_by_actor_action_and_target() {
    let desk = Desk::without_worker().await;
    desk.lab
        .run(
            "select jobkit.note('ada', 'pause', 'queue', null, null, 'mail');
            select jobkit.note('bob', 'pause', 'queue', null, null, 'mail');
            select jobkit.note('bob', 'resume', 'queue', null, null, 'mail');
            select jobkit.note('bob', 'cancel', 'job', 7, null);
            select jobkit.note('bob', 'stop', 'worker', 7, null, 'host:1');
            select jobkit.note('eve', 'cancel', 'job', 8, null) from generate_series(1, 12000)",
        )
        .await;
    let ids = async |filter: AuditFilter| {
        let (mut ids, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = desk.admin.audit(&filter, after, 500).await.unwrap();
            ids.extend(page.entries.iter().map(|entry| entry.id));
            (after, pages) = (page.next, pages + 1);
            if after.is_none() {
                break (ids, pages);
            }
        }
    };
    let all = AuditFilter::all;
    // Of the first 10,000 none fits: the page says where to go on.
    assert_eq!(ids(all().actor("ada")).await, (vec![1], 2));
    assert_eq!(ids(all().actor("bob").action("pause")).await.0, [2]);
    assert_eq!(ids(all().subject("queue").name("mail")).await.0, [3, 2, 1]);
    assert_eq!(ids(all().id(7)).await.0, [5, 4]);
    assert_eq!(ids(all().subject("job").id(7)).await.0, [4]);
    assert_eq!(ids(all().actor("a\0")).await.0, Vec::<i64>::new());
    desk.admin.audit(&all().action(""), None, 1).await.unwrap_err();
    desk.admin.audit(&all().name("x\0"), None, 1).await.unwrap_err();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_is_kept_as_long_as_workers_say() {
    let desk = Desk::without_worker().await;
    desk.lab
        .run(
            "select jobkit.note(null, 'old', 'b', i, null) from generate_series(1, 1500) i;
            update jobkit.audit set at = now() - interval '91 days';
            select jobkit.note(null, 'young', 'b', i, null) from generate_series(1, 3) i;
            update jobkit.audit set at = now() - interval '89 days' where action = 'young'",
        )
        .await;
    let worker = desk.start().await;
    desk.lab.until("not exists (select from jobkit.audit where action = 'old')").await;
    worker.stop().await;
    assert_eq!(desk.lab.count("jobkit.audit").await, 3);
    let kinds = crate::jobs::all();
    let worker = desk.lab.worker().state(desk.lab.direct().clone()).jobs(kinds);
    let worker = worker.queue("default", 1).keep_audit(88 * 24 * HOUR).start().await.unwrap();
    desk.lab.until("not exists (select from jobkit.audit)").await;
    worker.stop().await;
}

#[tokio::test]
async fn a_worker_is_asked_to_stop_once() {
    let desk = Desk::new().await;
    assert_eq!(desk.ada().worker(WORKER).stop().await.unwrap(), StopRequest::Requested);
    desk.is_noted("stop", "worker", Some(WORKER), Some("w")).await;
    assert_eq!(desk.ada().worker(WORKER).stop().await.unwrap(), StopRequest::Already);
    assert_eq!(desk.ada().worker(1).stop().await.unwrap(), StopRequest::NotFound);
    assert_eq!(desk.audit().await, []);
    assert!(desk.admin.workers().await.unwrap()[0].stop_requested_at.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_asked_to_stop_claims_no_more_and_gives_back_what_runs_too_long() {
    let desk = Desk::without_worker().await;
    let kinds = crate::jobs::all();
    let worker = desk.lab.worker().state(desk.lab.direct().clone()).jobs(kinds);
    let worker = worker.queue("default", 5).stop_grace(Duration::from_millis(300));
    let worker = worker.heartbeat(Duration::from_millis(100)).start().await.unwrap();
    let job = Act::then(Then::WaitForCancel).enqueue(desk.lab.pool()).await.unwrap();
    wait(Duration::from_secs(30), "it runs", async || worker.running() == 1).await;
    assert_eq!(desk.ada().worker(worker.id()).stop().await.unwrap(), StopRequest::Requested);
    worker.stopping().await;
    let late = Noop.enqueue(desk.lab.pool()).await.unwrap();
    wait(Duration::from_secs(30), "it was given back", async || {
        desk.job(job).await.state == State::Ready
    })
    .await;
    assert_eq!(desk.job(job).await.attempt, 0);
    assert_eq!(desk.state(late).await, State::Ready);
    let summary =
        desk.admin.worker(worker.id()).get().await.unwrap().expect("it is still there").summary;
    assert!(summary.stopping && !summary.late && summary.running == 0);
    worker.stop().await;
    desk.lab.check_invariants().await;
}
