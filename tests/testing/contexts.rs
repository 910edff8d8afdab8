//! Contexts that tests make.

use std::time::Duration;

use jobkit::report::Verdict;
use jobkit::testing::{assert_decodes, context};
use jobkit::{Job, JobContext, JobError, JobId, StopReason, job};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Serialize, Deserialize)]
#[job]
struct Count {
    from: i64,
    #[serde(default)]
    to: i64,
}

impl Job for Count {
    async fn run(self, _: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[tokio::test]
async fn a_context_says_what_it_was_told() {
    let created_at = "2026-11-20T03:00:00Z".parse().unwrap();
    let cx = context("state").id(7).kind("mail").queue("bulk").attempt(3).max_attempts(5);
    let cx = cx.snoozes(2).created_at(created_at).tags(["a", "b"]).timeout(Duration::from_secs(9));
    let cx = cx.metadata(json!({ "trace": "x" })).build();
    assert_eq!((cx.id(), cx.kind(), cx.queue()), (JobId(7), "mail", "bulk"));
    assert_eq!((cx.attempt(), cx.max_attempts(), cx.snoozes()), (3, 5, 2));
    assert_eq!(
        (cx.created_at(), cx.tags(), *cx.state()),
        (created_at, &["a", "b"].map(str::to_owned)[..], "state")
    );
    assert_eq!(cx.metadata().map(|metadata| metadata.get()), Some(r#"{"trace":"x"}"#));
    let remaining = cx.remaining().unwrap();
    assert!(remaining > Duration::from_secs(8) && remaining <= Duration::from_secs(9));
    assert_eq!((cx.stop_reason(), cx.instant()), (None, None));
    assert!(!cx.pause_key(Duration::from_secs(1)).await.unwrap(), "there is no key to pause");
    assert_eq!(context(()).instant("nightly", created_at).build().instant(), Some(created_at));
}

#[tokio::test]
async fn a_context_stops_when_it_is_told() {
    let stopped = context(()).stopping().build();
    assert_eq!(stopped.stopping().await, StopReason::Stopping);
    assert!(!stopped.cancel_token().is_cancelled(), "it has its grace");
    for reason in [StopReason::Cancelled, StopReason::LeaseLost, StopReason::TimedOut] {
        let cancelled = context(()).cancelled(reason).build();
        assert_eq!((cancelled.cancelled().await, cancelled.stopping().await), (reason, reason));
    }
    let cx = context(());
    let stops = cx.stops();
    let cx = cx.build();
    let told = tokio::spawn(async move { (cx.stopping().await, cx.cancelled().await) });
    stops.stop();
    stops.cancel(StopReason::LeaseLost);
    assert_eq!(told.await.unwrap().1, StopReason::LeaseLost);
}

#[tokio::test]
async fn blocking_work_in_a_context_hears_of_its_stop_and_returns() {
    let cx = context(7);
    let stops = cx.stops();
    let cx = cx.build();
    let work = cx.blocking(|cx| {
        while cx.stop_reason().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        (*cx.state(), cx.stop_reason())
    });
    let (returned, ()) = tokio::join!(work, async { stops.cancel(StopReason::TimedOut) });
    assert_eq!(returned, (7, Some(StopReason::TimedOut)));
    let panics = tokio::spawn(async move { cx.blocking(|_| panic!("in the closure")).await });
    assert!(panics.await.unwrap_err().is_panic());
}

#[test]
fn an_error_says_its_verdict() {
    let second = Duration::from_secs(1);
    for (error, verdict, text) in [
        (JobError::from("a"), Verdict::Retry, "a"),
        (JobError::retry_in(second, "b"), Verdict::RetryIn(second), "b"),
        (JobError::discard("c"), Verdict::Discard, "c"),
        (JobError::dead("d"), Verdict::Dead, "d"),
        (JobError::snooze(second), Verdict::Snooze(second), "snoozed"),
        (JobError::release(), Verdict::Release, "released"),
    ] {
        assert_eq!((error.verdict(), &*error.to_string()), (verdict, text));
    }
}

#[test]
fn a_payload_of_yesterday_decodes() {
    let count = assert_decodes::<Count>(1, r#"{"from": 7}"#);
    assert_eq!((count.from, count.to), (7, 0));
    for (version, payload, said) in [
        (1, r#"{"to": 7}"#, "count: the payload does not decode at `.`: missing field `from`"),
        (2, r#"{"from": 7}"#, "count: this binary does not know version 2 of `count`"),
    ] {
        let failed = std::panic::catch_unwind(|| assert_decodes::<Count>(version, payload));
        let message = failed.err().unwrap().downcast::<String>().unwrap();
        assert!(message.starts_with(said), "{message}");
    }
}

#[tokio::test]
async fn a_context_keeps_steps_in_memory() {
    let cx = context(()).step("charge", &"ch_7").build();
    let charge: String = cx.step("charge", async || panic!("it has run")).await.unwrap();
    assert_eq!(charge, "ch_7");
    assert_eq!(cx.step("ship", async || Ok(1)).await.unwrap(), 1);
    let twice = cx.step("ship", async || Ok(2)).await.unwrap_err().to_string();
    assert!(twice.contains("was used twice"), "{twice}");
}
