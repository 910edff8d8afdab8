//! One job at a time: cancel, discard and reschedule, wherever it is.

use chrono::{TimeDelta, Utc};
use jobkit::JobId;
use jobkit::admin::AdminError;
use jobkit::admin::jobs::{Cancelled, Rescheduled, State};
use jobkit::error::InvalidValue;
use jobkit_tests::wait;
use std::time::Duration;

use super::kit::Desk;

/// Where the job is whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Scheduled,
    Ready,
    Holder,
    Blocked,
}

const WAITING: [Place; 4] = [Place::Scheduled, Place::Ready, Place::Holder, Place::Blocked];

/// A waiting job, and one of the same account that is blocked behind it or behind what blocks it.
async fn scene(desk: &Desk, place: Place) -> (JobId, Option<JobId>) {
    let account = format!("{place:?}-{:08x}", fastrand::u32(..));
    match place {
        Place::Scheduled => (desk.pay_later(&account).await, None),
        Place::Ready => (desk.pay(&account).await, None),
        Place::Holder => {
            let (n, job) = desk.running(&account).await;
            let next = desk.blocked(&account).await;
            // Given back it is first again, since it is older.
            desk.settle(n, job, "release").await;
            assert_eq!(desk.place(job).await, "ready with a permit");
            (job, Some(next))
        }
        Place::Blocked => {
            desk.running(&account).await;
            (desk.blocked(&account).await, Some(desk.blocked(&account).await))
        }
    }
}

/// A holder that leaves passes its permit on; a blocked job had none.
async fn expect_next(desk: &Desk, place: Place, next: Option<JobId>) {
    let expected = if place == Place::Holder { "ready with a permit" } else { "blocked" };
    if let Some(next) = next {
        assert_eq!(desk.place(next).await, expected, "behind {place:?}");
    }
    desk.lab.check_invariants().await;
    desk.clear().await;
}

#[tokio::test]
async fn a_waiting_job_is_cancelled_at_once_wherever_it_waits() {
    let desk = Desk::new().await;
    for place in WAITING {
        let (job, next) = scene(&desk, place).await;
        assert_eq!(desk.admin.job(job).cancel().await.unwrap(), Cancelled::Now, "{place:?}");
        assert_eq!(desk.place(job).await, "cancel: cancelled", "{place:?}");
        assert_eq!(desk.admin.job(job).cancel().await.unwrap(), Cancelled::NotFound);
        expect_next(&desk, place, next).await;
    }
}

#[tokio::test]
async fn a_waiting_job_is_discarded_for_a_reason_wherever_it_waits() {
    let desk = Desk::new().await;
    for place in WAITING {
        let (job, next) = scene(&desk, place).await;
        let refused = desk.admin.job(job).discard("no\0").await;
        assert!(
            matches!(refused, Err(AdminError::Invalid(InvalidValue::Nul { .. }))),
            "{refused:?}"
        );
        let discarded = desk.admin.job(job).discard("no such ü").await.unwrap();
        assert_eq!(discarded, Cancelled::Now, "{place:?}");
        assert_eq!(desk.place(job).await, "discard: no such ü", "{place:?}");
        expect_next(&desk, place, next).await;
    }
    let none = desk.admin.job(JobId(-1)).discard("").await.unwrap();
    assert_eq!(none, Cancelled::NotFound);
}

#[tokio::test]
async fn a_waiting_job_is_rescheduled_wherever_it_waits() {
    let desk = Desk::new().await;
    let past = Utc::now() - TimeDelta::days(400_000);
    let times = [
        (None, "ready"),
        (Some(past), "ready"),
        (Some(Utc::now() + TimeDelta::hours(1)), "scheduled"),
        (Some("9999-12-31T23:59:59Z".parse().unwrap()), "scheduled"),
    ];
    for (at, expected) in times {
        for place in WAITING {
            let (job, next) = scene(&desk, place).await;
            let moved = desk.admin.job(job).reschedule(at).await.unwrap();
            assert_eq!(moved, Rescheduled::Moved, "{place:?} to {at:?}");
            assert_eq!(desk.place(job).await, expected, "{place:?} to {at:?}");
            expect_next(&desk, place, next).await;
        }
    }
    let never = desk.admin.job(JobId(1)).reschedule(Some(chrono::DateTime::<Utc>::MAX_UTC)).await;
    assert!(matches!(never, Err(AdminError::Invalid(InvalidValue::Range { .. }))), "{never:?}");
}

#[tokio::test]
async fn a_rescheduled_job_asks_for_its_permit_again() {
    let desk = Desk::new().await;
    let job = desk.holder("a").await;
    let (n, next) = {
        let next = desk.blocked("a").await;
        // It claimed the holder, so that is given back once more.
        let n: i64 = desk.lab.value("select n from jobkit.claims").await;
        desk.settle(n, job, "release").await;
        (n, next)
    };
    assert_eq!(desk.admin.job(job).reschedule(None).await.unwrap(), Rescheduled::Moved);
    let (m, claimed) = desk.claim().await;
    assert_eq!(claimed, [next], "claim {m} after {n}");
    assert_eq!(desk.place(job).await, "blocked");
    desk.settle(m, next, "finish").await;
    assert_eq!(desk.place(job).await, "ready with a permit");
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn a_running_job_is_asked_and_its_own_claim_settles_it() {
    let desk = Desk::new().await;
    for (discard, outcome, ending) in [
        (false, "retry", "cancel: why"),
        (true, "snooze", "cancel: why"),
        (false, "release", "cancel: why"),
        (true, "discard", "discard: why"),
        (false, "finish", "finish"),
    ] {
        let (n, job) = desk.running("a").await;
        let next = desk.blocked("a").await;
        let asked = match discard {
            true => desk.admin.job(job).discard("pointless").await,
            false => desk.admin.job(job).cancel().await,
        };
        assert_eq!(asked.unwrap(), Cancelled::Requested);
        let summary = desk.job(job).await;
        assert_eq!((summary.state, summary.cancel_requested), (State::Running, true));
        assert_eq!(desk.state(next).await, State::Blocked);
        desk.settle(n, job, outcome).await;
        assert_eq!(desk.place(job).await, ending);
        assert_eq!(desk.place(next).await, "ready with a permit");
        desk.lab.check_invariants().await;
        desk.admin.job(next).cancel().await.unwrap();
    }
}

#[tokio::test]
async fn a_job_that_cannot_be_rescheduled_is_refused_and_stays_as_it_is() {
    let desk = Desk::new().await;
    let (n, job) = desk.running("a").await;
    assert_eq!(desk.admin.job(job).reschedule(None).await.unwrap(), Rescheduled::Running);
    desk.admin.job(job).cancel().await.unwrap();
    assert_eq!(desk.admin.job(job).reschedule(None).await.unwrap(), Rescheduled::CancelRequested);
    assert_eq!(desk.place(job).await, "running with a permit");
    desk.settle(n, job, "finish").await;
    assert_eq!(desk.admin.job(job).reschedule(None).await.unwrap(), Rescheduled::NotFound);
    assert_eq!(
        desk.admin.job(JobId(i64::MAX)).reschedule(None).await.unwrap(),
        Rescheduled::NotFound
    );
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn a_job_in_the_hands_of_another_session_is_waited_for_a_moment() {
    let desk = Desk::new().await;
    for place in ["ready", "scheduled"] {
        let (job, _) = match place {
            "ready" => scene(&desk, Place::Ready).await,
            _ => scene(&desk, Place::Scheduled).await,
        };
        let mut other = desk.lab.session("other").await;
        let hold = format!("begin; select from jobkit.{place} where job_id = {job} for update");
        other.run(&hold).await.unwrap();
        let error = desk.admin.job(job).reschedule(None).await.unwrap_err();
        assert!(matches!(error, AdminError::Busy), "{error}");
        assert_eq!(desk.admin.job(job).cancel().await.unwrap(), Cancelled::Requested);
        other.run("rollback").await.unwrap();
        let left = desk.admin.job(job).reschedule(None).await.unwrap();
        assert_eq!(left, Rescheduled::CancelRequested);
        assert_eq!(desk.admin.job(job).cancel().await.unwrap(), Cancelled::Now);
        assert_eq!(desk.place(job).await, "cancel: cancelled");
    }
    desk.lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_job_that_is_discarded_while_it_runs_stops_and_lets_the_next_one_run() {
    let desk = Desk::without_worker().await;
    let worker = desk.start().await;
    let jobs = desk.pay_all(["a".to_owned(), "a".to_owned()]).await;
    let (first, next) = (jobs[0], jobs[1]);
    desk.lab.until(&format!("exists (select from effects where job_id = {first})")).await;
    let blocked = async || desk.state(next).await == State::Blocked;
    wait(Duration::from_secs(30), "the next one is blocked", blocked).await;
    assert_eq!(desk.admin.job(first).discard("no more").await.unwrap(), Cancelled::Requested);
    desk.lab.until(&format!("exists (select from effects where job_id = {next})")).await;
    assert!(desk.place(first).await.starts_with("cancel"));
    desk.go().await;
    desk.lab.until("not exists (select from jobkit.jobs)").await;
    assert_eq!(desk.place(next).await, "finish");
    worker.stop().await;
    desk.lab.check_invariants().await;
}
